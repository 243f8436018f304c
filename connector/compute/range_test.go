package compute

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sink/table"
)

// TestMayMatch: what a range rules out, and what it does not.
func TestMayMatch(t *testing.T) {
	fields := []table.Field{
		{Name: "n", Type: table.Type{Root: table.BigInt}}, {Name: "s", Type: table.Type{Root: table.VarChar, Length: table.MaxLength}},
		{Name: "d", Type: table.Type{Root: table.Double}},
	}
	numbers := &table.Vector{Layout: table.Words, Words: []int64{10, 20}}
	texts := &table.Vector{Layout: table.Bytes}
	texts.AppendBytes([]byte("b"))
	texts.AppendBytes([]byte("d"))
	doubles := &table.Vector{Layout: table.Words, Words: []int64{int64(math.Float64bits(1)), int64(math.Float64bits(2))}}
	full := []table.Range{{Bounds: numbers, Rows: 5}, {Bounds: texts, Nulls: 1, Rows: 5}, {Bounds: doubles, Rows: 5}}
	empty := []table.Range{{Nulls: 5, Rows: 5}, {Nulls: 5, Rows: 5}, {Nulls: 5, Rows: 5}}
	unknown := make([]table.Range, 3)
	for _, test := range []struct {
		text   string
		ranges []table.Range
		may    bool
	}{
		{"n = 9", full, false}, {"n = 10", full, true}, {"n = 21", full, false}, {"n < 10", full, false}, {"n <= 10", full, true},
		{"n > 20", full, false}, {"n >= 20", full, true}, {"n <> 10", full, true}, {"n in (1, 2, 30)", full, false}, {"n in (1, 15)", full, true},
		{"n is null", full, false}, {"s is null", full, true}, {"n is not null", empty, false}, {"n = 10", empty, false}, {"n is null", empty, true},
		{"not n = 10", full, true}, {"not n < 10", full, true}, {"not n is not null", full, false}, {"not (n = 10 or n > 5)", empty, false},
		{"n = 10 and s = 'e'", full, false}, {"n = 1 or s = 'c'", full, true}, {"n = 1 or s = 'e'", full, false},
		{"s > 'd'", full, false}, {"s > 'c'", full, true}, {"upper(s) = 'X'", full, true},
		{"d > 3", full, false}, {"d = 1.5", full, true}, {"not d > 0", full, true}, // a NaN may be there
		{"n = 1", unknown, true}, {"n is null", unknown, true}, {"not n = 1", unknown, true},
	} {
		f, err := ParseFilter(test.text)
		require.NoError(t, err, test.text)
		p, err := f.Bind(&table.Schema{Fields: fields})
		require.NoError(t, err, test.text)
		require.Equal(t, test.may, p.MayMatch(func(i int) table.Range { return test.ranges[i] }), test.text)
	}
}

// TestMayMatchNeverLies: a condition that holds for a row may hold for every range that the row is in.
func TestMayMatchNeverLies(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	fields := []table.Field{{Name: "a", Type: table.Type{Root: table.Int}}, {Name: "b", Type: table.Type{Root: table.Double}}}
	operators := []string{"=", "<>", "<", "<=", ">", ">="}
	var write func(b *strings.Builder, depth int)
	write = func(b *strings.Builder, depth int) {
		name := []string{"a", "b"}[r.IntN(2)]
		value := string(rune('0' + r.IntN(6)))
		switch k := r.IntN(8); {
		case depth > 0 && k < 3:
			b.WriteString("(")
			write(b, depth-1)
			b.WriteString([]string{" and ", " or "}[r.IntN(2)])
			write(b, depth-1)
			b.WriteString(")")
		case depth > 0 && k == 3:
			b.WriteString("not (")
			write(b, depth-1)
			b.WriteString(")")
		case k == 4:
			b.WriteString(name + " is null")
		case k == 5:
			b.WriteString(name + " in (" + value + ", 3)")
		default:
			b.WriteString(name + " " + operators[r.IntN(len(operators))] + " " + value)
		}
	}
	ruledOut := 0
	for range 5000 {
		batch := table.NewBatch(fields)
		ints := table.NewStatsCollector(fields[0].Type, table.StatsMode{Level: table.StatsFull})
		doubles := table.NewStatsCollector(fields[1].Type, table.StatsMode{Level: table.StatsFull})
		for range 1 + r.IntN(3) {
			if r.IntN(5) == 0 {
				batch.Columns[0].AppendNull()
			} else {
				batch.Columns[0].AppendWord(r.Int64N(6))
			}
			switch r.IntN(8) {
			case 0:
				batch.Columns[1].AppendNull()
			case 1:
				batch.Columns[1].AppendWord(int64(math.Float64bits(math.NaN())))
			default:
				batch.Columns[1].AppendWord(int64(math.Float64bits(float64(r.Int64N(6)))))
			}
			batch.Kinds = append(batch.Kinds, table.Insert)
		}
		n := batch.Len()
		ints.UpdateVector(&batch.Columns[0], 0, n)
		doubles.UpdateVector(&batch.Columns[1], 0, n)
		stats := table.BuildStats([]*table.StatsCollector{ints, doubles})
		types := []table.Type{fields[0].Type, fields[1].Type}
		low, err := table.DecodeRow(stats.Min, types)
		require.NoError(t, err)
		high, err := table.DecodeRow(stats.Max, types)
		require.NoError(t, err)
		var text strings.Builder
		write(&text, 3)
		f, err := ParseFilter(text.String())
		require.NoError(t, err, text.String())
		p, err := f.Bind(&table.Schema{Fields: fields})
		require.NoError(t, err, text.String())
		may := p.MayMatch(func(i int) table.Range {
			return table.NewRange(&low.Columns[i], &high.Columns[i], 0, stats.Nulls[i], int64(n))
		})
		for i := range n {
			truth, err := p.Match(batch, i)
			require.NoError(t, err)
			if truth == True {
				require.True(t, may, "%s of row %d", text.String(), i)
			}
		}
		if !may {
			ruledOut++
		}
	}
	require.Greater(t, ruledOut, 500, "it rules something out")
}
