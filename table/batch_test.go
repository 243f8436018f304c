package table

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBatch(t *testing.T) {
	b := NewBatch([]Field{{Name: "id", Type: Type{Root: BigInt}}, {Name: "s", Type: Type{Root: VarChar, Length: MaxLength}}})
	require.Equal(t, Words, b.Columns[0].Layout)
	require.Equal(t, Bytes, b.Columns[1].Layout)

	b.Columns[0].AppendWord(7)
	b.Columns[1].AppendBytes([]byte("seven"))
	b.Kinds = append(b.Kinds, Insert)
	b.Columns[0].AppendNull()
	b.Columns[1].AppendNull()
	b.Kinds = append(b.Kinds, Delete)
	b.Columns[0].AppendWord(9)
	b.Columns[1].Data = append(b.Columns[1].Data, "unfinished"...)
	require.Equal(t, 2, b.Len())

	b.Truncate(2)
	require.Equal(t, 2, b.Columns[0].Len())
	require.Equal(t, "seven", string(b.Columns[1].Bytes(0)))
	require.True(t, b.Columns[1].IsNull(1))
	require.Empty(t, b.Columns[1].Bytes(1))

	c := NewBatch(nil)
	c.Columns = []Vector{{Layout: Words}, {Layout: Bytes}}
	c.AppendRow(b, 1)
	c.AppendRow(b, 0)
	require.Equal(t, []Kind{Delete, Insert}, c.Kinds)
	require.True(t, c.Columns[0].IsNull(0))
	require.EqualValues(t, 7, c.Columns[0].Words[1])
	require.Equal(t, "seven", string(c.Columns[1].Bytes(1)))

	b.Reset()
	require.Zero(t, b.Len())
	require.Nil(t, b.Columns[0].Nulls)
	require.Positive(t, b.SizeBytes())
}

func TestRef(t *testing.T) {
	r := MakeRef(65535, 65534)
	require.Equal(t, 65535, r.Batch())
	require.Equal(t, 65534, r.Row())
}
