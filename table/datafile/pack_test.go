package datafile

import (
	"math"
	"testing"

	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/stretchr/testify/require"
)

// TestPacked decodes what appendPacked wrote with parquet-go's decoder.
func TestPacked(t *testing.T) {
	r := newRand(t)
	edges64 := []int64{math.MinInt64, math.MaxInt64, 0, -1, 1}
	edges32 := []int64{math.MinInt32, math.MaxInt32, 0, -1, 1}
	for n := range 400 {
		bits := r.IntN(65)
		var words, narrow []int64
		for i := range n {
			w := int64(r.Uint64() >> (64 - bits))
			if r.IntN(20) == 0 {
				w = edges64[r.IntN(len(edges64))]
			}
			if bits == 0 {
				w = int64(i)
			}
			words, narrow = append(words, w), append(narrow, int64(int32(w)))
			if r.IntN(20) == 0 {
				narrow[i] = edges32[r.IntN(len(edges32))]
			}
		}
		var e delta.BinaryPackedEncoding
		got, err := e.DecodeInt64(nil, appendPacked(nil, words, false))
		require.NoError(t, err)
		require.Len(t, got, n)
		for i := range words {
			require.Equal(t, words[i], got[i])
		}
		got32, err := e.DecodeInt32(nil, appendPacked(nil, narrow, true))
		require.NoError(t, err)
		require.Len(t, got32, n)
		for i := range narrow {
			require.Equal(t, narrow[i], int64(got32[i]))
		}
	}
}

func BenchmarkPacked(b *testing.B) {
	words := make([]int64, 16<<10)
	for i := range words {
		words[i] = int64(i*7919) % 100_000
	}
	var dst []byte
	start := cpuNanos()
	for b.Loop() {
		dst = appendPacked(dst[:0], words, false)
	}
	reportRows(b, start, len(words))
}
