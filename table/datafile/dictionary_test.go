package datafile

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
)

// A dictionary that overflowed with its very first values is used again: it must not find what it dropped.
func TestDictionaryAfterOverflow(t *testing.T) {
	var d dictionary
	wide := func(n int) []byte {
		var body []byte
		for i := range n {
			v := bytes.Repeat([]byte{byte(i), byte(i >> 8)}, 2000)
			body = binary.LittleEndian.AppendUint32(body, uint32(len(v)))
			body = append(body, v...)
		}
		return body
	}
	_, ok := d.indexBytes(nil, wide(maxDictionaryBytes/4000+2), 0)
	require.False(t, ok, "the dictionary has overflowed")
	require.Zero(t, d.len())
	d.reset()
	for range 2 {
		indexes, ok := d.indexBytes(nil, wide(3), 0)
		require.True(t, ok)
		require.Equal(t, []int32{0, 1, 2}, indexes)
	}
	require.Equal(t, 3, d.len())
}
