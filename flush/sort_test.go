package flush

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"sink/table"
)

// keyTables are tables of keys that are sorted in different ways.
func keyTables() map[string][]table.Field {
	typ := func(root table.Root) table.Type {
		return table.Type{Root: root, NotNull: true, Length: table.MaxLength, Precision: 20, Scale: 2}
	}
	return map[string][]table.Field{
		"bigint":        {{Name: "k", Type: typ(table.BigInt)}},
		"int":           {{Name: "k", Type: typ(table.Int)}},
		"double":        {{Name: "k", Type: typ(table.Double)}},
		"string":        {{Name: "k", Type: typ(table.VarChar)}},
		"decimal":       {{Name: "k", Type: typ(table.Decimal)}},
		"int, int":      {{Name: "k", Type: typ(table.Int)}, {Name: "l", Type: typ(table.Int)}},
		"string, int":   {{Name: "k", Type: typ(table.VarChar)}, {Name: "l", Type: typ(table.Int)}},
		"bigint, bytes": {{Name: "k", Type: typ(table.BigInt)}, {Name: "l", Type: typ(table.VarBinary)}},
	}
}

// randomKeys fills a batch with keys, some of them alike and some the same.
func randomKeys(r *rand.Rand, fields []table.Field, rows int) *table.Batch {
	b := table.NewBatch(fields)
	spread := 1 + r.Int64N(1<<r.IntN(31))
	prefix := []string{"", "customer-", "a\x00"}[r.IntN(3)]
	for range rows {
		for c := range b.Columns {
			n := r.Int64N(spread) - spread/2
			switch v := &b.Columns[c]; {
			case v.Layout == table.Words:
				v.AppendWord(n)
			case fields[c].Type.Root == table.Decimal:
				v.AppendBytes(append(bytes.Repeat([]byte{byte(n >> 63)}, 8), byte(n>>56), byte(n>>48), byte(n>>40), byte(n>>32), byte(n>>24), byte(n>>16), byte(n>>8), byte(n)))
			default:
				v.AppendBytes([]byte(prefix + fmt.Sprint(n) + "\x00\x01\x00"[:r.IntN(4)]))
			}
		}
		b.Kinds = append(b.Kinds, table.Insert)
	}
	return b
}

func TestSort(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	s := new(sorter) // used again and again
	for name, fields := range keyTables() {
		t.Run(name, func(t *testing.T) {
			columns := make([]int, len(fields))
			types := make([]table.Type, len(fields))
			for i, f := range fields {
				columns[i], types[i] = i, f.Type
			}
			o := &order{key: table.NewKeyEncoder(types, columns)}
			for _, rows := range []int{1, 2, 10, smallSort, smallSort + 1, 3000} {
				chunks := []*table.Batch{randomKeys(r, fields, rows), randomKeys(r, fields, rows/2+1)}
				var refs []table.Ref
				keys := map[table.Ref][]byte{}
				for c, b := range chunks {
					for i := range b.Len() {
						if r.IntN(4) > 0 {
							ref := table.MakeRef(c, i)
							refs = append(refs, ref)
							keys[ref] = o.key.Append(nil, b, i)
						}
					}
				}
				want := slices.Clone(refs)
				slices.SortFunc(want, func(a, b table.Ref) int {
					return cmp.Or(bytes.Compare(keys[a], keys[b]), cmp.Compare(a, b))
				})
				repeats := s.sort(o, chunks, refs)
				var got []table.Ref
				distinct := 0
				for {
					g := s.next(len(got), chunks, []int64{100, 1_000_000})
					if g.rows.Len() == 0 {
						break
					}
					distinct += len(g.ends)
					for i, ref := range g.rows.Refs {
						require.Equal(t, []int64{100, 1_000_000}[ref.Batch()]+int64(ref.Row()), g.rows.Seqs[i])
					}
					got = append(got, g.rows.Refs...)
				}
				require.Equal(t, want, got)
				unique := map[string]bool{}
				for _, ref := range refs {
					unique[string(keys[ref])] = true
				}
				require.Len(t, unique, distinct)
				require.Equal(t, len(unique) != len(refs), repeats)
			}
		})
	}
}

func BenchmarkSort(b *testing.B) {
	for _, name := range []string{"bigint", "string", "string, int", "int, int"} {
		fields := keyTables()[name]
		b.Run(name, func(b *testing.B) {
			const rows = 50_000
			r := rand.New(rand.NewPCG(1, 2))
			columns := make([]int, len(fields))
			types := make([]table.Type, len(fields))
			for i, f := range fields {
				columns[i], types[i] = i, f.Type
			}
			o := &order{key: table.NewKeyEncoder(types, columns)}
			chunk := table.NewBatch(fields)
			var refs []table.Ref
			for i := range rows {
				for c, f := range fields {
					n := r.Int64N(50_000)
					if f.Type.Layout() == table.Words {
						chunk.Columns[c].AppendWord(n)
					} else {
						chunk.Columns[c].AppendBytes(fmt.Appendf(nil, "customer-%08d", n))
					}
				}
				chunk.Kinds = append(chunk.Kinds, table.Insert)
				refs = append(refs, table.MakeRef(0, i))
			}
			s := new(sorter)
			b.ReportAllocs()
			for b.Loop() {
				s.sort(o, []*table.Batch{chunk}, refs)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
		})
	}
}
