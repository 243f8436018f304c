package scan

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sink/connector/compute"
	"sink/table"
	"sink/table/object"
)

// condition is a filter as the command line has it.
type condition struct{ *compute.Filter }

func (c condition) Bind(fields []table.Field) (Condition, error) {
	p, err := c.Filter.Bind(&table.Schema{Fields: fields})
	return bound{p}, err
}

type bound struct{ *compute.Predicate }

func (b bound) Match(rows *table.Batch, i int) (bool, error) {
	truth, err := b.Predicate.Match(rows, i)
	return truth == compute.True, err
}

func where(t *testing.T, text string) Where {
	f, err := compute.ParseFilter(text)
	require.NoError(t, err, text)
	return condition{f}
}

// chosen are the lines of rows for which a condition holds, read without it.
func chosen(t *testing.T, plan *Plan, text string, columns []string) []string {
	p, err := where(t, text).Bind(plan.Schema.Fields)
	require.NoError(t, err)
	fields, err := plan.Fields(Options{Columns: columns})
	require.NoError(t, err)
	var lines []string
	for b, err := range plan.Rows(t.Context(), Options{}) {
		require.NoError(t, err)
		for i := range b.Len() {
			ok, err := p.Match(b, i)
			require.NoError(t, err)
			if !ok {
				continue
			}
			view := table.Batch{Kinds: b.Kinds}
			for _, f := range fields {
				view.Columns = append(view.Columns, b.Columns[plan.Schema.FieldIndex(f.Name)])
			}
			lines = append(lines, string(table.AppendCanonicalRow(nil, fields, &view, i))+"\n")
		}
	}
	slices.Sort(lines)
	return lines
}

// TestWhere reads a random history under random conditions: always the rows that reading all and choosing afterwards gives, in any
// order of reading, of rows and of changes.
func TestWhere(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	w := newWorld(t, rnd, map[string]string{"bucket": "1", "changelog-producer": "input", "target-file-size": "1 kb"})
	live := map[string]row{}
	for i := range 5 {
		if i == 2 {
			next, _, err := table.Evolve(w.schema, append(slices.Clone(w.schema.Fields), table.Field{Name: "extra", Type: table.Type{Root: table.Double}}))
			require.NoError(t, err)
			w.setSchema(next)
		}
		w.commit(w.step(2500+rnd.IntN(500), live))
	}
	fault := object.NewFault(w.store)
	tab, err := Open(t.Context(), fault, w.path)
	require.NoError(t, err)
	plan, err := tab.Plan(t.Context(), At{}, nil)
	require.NoError(t, err)
	opens := func() int {
		return len(slices.DeleteFunc(fault.Log(), func(line string) bool { return !strings.HasPrefix(line, "open ") }))
	}
	before := opens()
	_ = chosen(t, plan, "id is null", nil)
	all := opens() - before
	texts := []string{"id = 77", "p = 'b'", "p = 'none'", "id >= 19990", "extra is not null", "ver = 500 and id < 3000", "v = ''", "not id > 100"}
	for range 3 {
		texts = append(texts, fmt.Sprintf("%s %s %d", []string{"id", "ver"}[rnd.IntN(2)], []string{"=", "<", ">=", "<>"}[rnd.IntN(4)], rnd.IntN(20000)),
			fmt.Sprintf("(id < %d or ver is null) and not p = 'c'", rnd.IntN(20000)), fmt.Sprintf("v in ('%d', '%d') or id = %d", rnd.IntN(100), rnd.IntN(100), rnd.IntN(20000)))
	}
	for _, text := range texts {
		columns := [][]string{nil, {"v"}, {"id", "p"}}[rnd.IntN(3)]
		want := chosen(t, plan, text, columns)
		for _, ordered := range []bool{false, true} {
			before := opens()
			got, err := printRows(t, plan, Options{Columns: columns, Ordered: ordered, Where: where(t, text)})
			require.NoError(t, err)
			slices.Sort(got)
			require.True(t, slices.Equal(want, got), "%s of %v, ordered %v: %d rows, %d wanted", text, columns, ordered, len(got), len(want))
			switch text {
			case "p = 'none'":
				require.Zero(t, opens()-before, "no partition")
			case "id = 77":
				require.Less(t, opens()-before, all/3, "few files hold the key")
			case "p = 'b'":
				require.Less(t, opens()-before, all/2, "one partition of three")
			}
		}
		got := map[string]int{}
		for c, err := range tab.Changes(t.Context(), Earliest, ChangeOptions{Where: where(t, text)}) {
			require.NoError(t, err)
			for i := range c.Batch.Len() {
				got[c.Batch.Kinds[i].String()+string(table.AppendCanonicalRow(nil, tab.Schema().Fields, c.Batch, i))]++
			}
		}
		require.Equal(t, chosenChanges(t, tab, text), got, "changes where %s", text)
	}
	_, err = printRows(t, plan, Options{Where: where(t, "nope = 1")})
	require.ErrorContains(t, err, `no column "nope"`)
	_, err = printRows(t, plan, Options{Where: where(t, "id = 'x'")})
	require.ErrorContains(t, err, "'x'")
}

func chosenChanges(t *testing.T, tab *Table, text string) map[string]int {
	p, err := where(t, text).Bind(tab.Schema().Fields)
	require.NoError(t, err)
	want := map[string]int{}
	for c, err := range tab.Changes(t.Context(), Earliest, ChangeOptions{}) {
		require.NoError(t, err)
		for i := range c.Batch.Len() {
			ok, err := p.Match(c.Batch, i)
			require.NoError(t, err)
			if ok {
				want[c.Batch.Kinds[i].String()+string(table.AppendCanonicalRow(nil, tab.Schema().Fields, c.Batch, i))]++
			}
		}
	}
	return want
}

// TestWhereOfGolden: on tables of the real Paimon, with truncated statistics, statistics of other modes, nulls, NaN and evolved
// columns, conditions on every column choose the same rows with and without statistics.
func TestWhereOfGolden(t *testing.T) {
	for _, name := range []string{"alltypes", "evolved", "stats_truncate4", "stats_counts", "stats_none", "stats_full", "multifile", "nullpartition_fixed", "parttypes_legacy", "keytypes", "compacted"} {
		t.Run(name, func(t *testing.T) {
			tab := golden(t, name)
			plan, err := tab.Plan(t.Context(), At{}, nil)
			require.NoError(t, err)
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			conditions := conditionsOf(t, plan)
			rand.New(rand.NewPCG(seed, 2)).Shuffle(len(conditions), func(i, j int) { conditions[i], conditions[j] = conditions[j], conditions[i] })
			for _, text := range conditions[:min(len(conditions), 40)] {
				want := chosen(t, plan, text, nil)
				got, err := printRows(t, plan, Options{Where: where(t, text)})
				require.NoError(t, err, text)
				slices.Sort(got)
				require.Equal(t, want, got, text)
			}
		})
	}
}

// conditionsOf compares every column with the values that a table has.
func conditionsOf(t *testing.T, plan *Plan) []string {
	texts := map[string]bool{}
	for b, err := range plan.Rows(t.Context(), Options{}) {
		require.NoError(t, err)
		for i := range min(b.Len(), 6) {
			for c, f := range plan.Schema.Fields {
				texts[f.Name+" is null"], texts["not "+f.Name+" is null"] = true, true
				cell := string(table.AppendCanonical(nil, f.Type, &b.Columns[c], i))
				if b.Columns[c].IsNull(i) || f.Type.Nested() {
					continue
				}
				text := strings.Trim(cell, `"`)
				if strings.HasPrefix(cell, `"`) && f.Type.Root != table.Decimal {
					text = "'" + strings.ReplaceAll(text, "'", "''") + "'"
				}
				for _, operator := range []string{"=", "<>", "<", ">="} {
					condition := f.Name + " " + operator + " " + text
					if parsed, err := compute.ParseFilter(condition); err == nil {
						if _, err := parsed.Bind(plan.Schema); err == nil {
							texts[condition], texts["not "+condition] = true, true
						}
					}
				}
			}
		}
	}
	require.NotEmpty(t, texts)
	return slices.Sorted(maps.Keys(texts))
}
