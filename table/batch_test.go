package table

import (
	"math/rand/v2"
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

// A range of rows comes out as its rows do one by one, whatever is null.
func TestAppendRows(t *testing.T) {
	fields := []Field{{Name: "id", Type: Type{Root: BigInt}}, {Name: "s", Type: Type{Root: VarChar, Length: MaxLength}}}
	rng := rand.New(rand.NewPCG(1, 2))
	random := func(rows int, nulls bool) *Batch {
		b := NewBatch(fields)
		for i := range rows {
			if nulls && rng.IntN(3) == 0 {
				b.Columns[0].AppendNull()
				b.Columns[1].AppendNull()
			} else {
				b.Columns[0].AppendWord(int64(i))
				b.Columns[1].AppendBytes(make([]byte, rng.IntN(4)))
			}
			b.Kinds = append(b.Kinds, Kind(rng.IntN(4)))
		}
		return b
	}
	for range 200 {
		from := random(1+rng.IntN(20), rng.IntN(2) == 0)
		into := random(rng.IntN(5), rng.IntN(2) == 0)
		want := NewBatch(fields)
		for i := range into.Len() {
			want.AppendRow(into, i)
		}
		i := rng.IntN(from.Len())
		j := i + rng.IntN(from.Len()-i+1)
		for k := i; k < j; k++ {
			want.AppendRow(from, k)
		}
		into.AppendRows(from, i, j)
		require.Equal(t, want.Len(), into.Len())
		for row := range want.Len() {
			require.Equal(t, want.Kinds[row], into.Kinds[row])
			for c := range want.Columns {
				require.Equal(t, want.Columns[c].IsNull(row), into.Columns[c].IsNull(row))
			}
			require.Equal(t, want.Columns[0].Words[row], into.Columns[0].Words[row])
			require.Equal(t, want.Columns[1].Bytes(row), into.Columns[1].Bytes(row))
		}
	}
}

func TestRef(t *testing.T) {
	r := MakeRef(65535, 65534)
	require.Equal(t, 65535, r.Batch())
	require.Equal(t, 65534, r.Row())
}
