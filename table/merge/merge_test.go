package merge

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"sink/table"
)

// TestMerge runs testdata/*.txt. A table is its columns and options, one a line; a merge is the rows of a key, oldest first, whose answer is the row made of them, or an error. The column id, which is
// the key, is added. What the scripts expect was compared with Paimon 1.3.1 by the integration test TestMergeEngines.
func TestMerge(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var w world
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "table":
				w = newWorld(t, d)
				return "ok\n"
			case "merge":
				return w.merge(t, d.Input)
			}
			t.Fatalf("no command %s", d.Cmd)
			return ""
		})
	})
}

type world struct {
	schema   *table.Schema
	function Function
	engine   *Engine
	columns  []int
}

// newWorld reads a line a column, then a line an option.
func newWorld(t *testing.T, d *datadriven.TestData) world {
	w := world{schema: &table.Schema{PrimaryKeys: []string{"id"}, Options: map[string]string{"bucket": "1"}}}
	fields := []table.Field{{Name: "id", Type: table.Type{Root: table.Int, NotNull: true}}}
	for _, line := range strings.Split(strings.TrimSpace(d.Input), "\n") {
		if name, value, ok := strings.Cut(line, "="); ok && !strings.Contains(line, "{") {
			w.schema.Options[name] = value
			continue
		}
		name, text, _ := strings.Cut(line, " ")
		typ, err := table.ParseType(text)
		require.NoError(t, err, line)
		fields = append(fields, table.Field{Name: name, Type: typ})
	}
	w.schema = table.NewSchema(fields, []string{"id"}, nil, w.schema.Options)
	require.NoError(t, w.schema.Validate())
	for i := range w.schema.Fields {
		w.columns = append(w.columns, i)
	}
	var err error
	w.engine, err = New(w.schema, w.columns)
	require.NoError(t, err)
	w.function = w.engine.Function()
	return w
}

// merge merges rows twice, so that what the first time left behind shows, and each column alone.
func (w world) merge(t *testing.T, input string) string {
	rows := table.Rows{Batches: []*table.Batch{table.NewBatch(w.schema.Fields)}}
	for i, line := range strings.Split(strings.TrimSpace(input), "\n") {
		kind, values, _ := strings.Cut(line, " ")
		appendRow(t, rows.Batches[0], w.schema.Fields, kind, values)
		rows.Refs, rows.Seqs = append(rows.Refs, table.MakeRef(0, i)), append(rows.Seqs, int64(10+i))
	}
	first := mergeOnce(w.function, rows, w.schema.Fields)
	require.Equal(t, first, mergeOnce(w.function, rows, w.schema.Fields))
	if !strings.HasPrefix(first, "error") {
		w.project(t, rows, first)
	}
	return first
}

// project merges some columns only, and wants the values that they have among all.
func (w world) project(t *testing.T, rows table.Rows, all string) {
	_, values, _ := strings.Cut(all, "{")
	for c := range w.schema.Fields {
		columns := []int{c}
		more, err := Needs(w.schema, columns)
		require.NoError(t, err)
		columns = append(columns, more...)
		e, err := New(w.schema, columns)
		require.NoError(t, err)
		some := table.Rows{Refs: rows.Refs, Seqs: rows.Seqs, Batches: []*table.Batch{{Kinds: rows.Batches[0].Kinds}}}
		var fields []table.Field
		for _, i := range columns {
			some.Batches[0].Columns = append(some.Batches[0].Columns, rows.Batches[0].Columns[i])
			fields = append(fields, w.schema.Fields[i])
		}
		got := mergeOnce(e.Function(), some, fields[:1])
		_, value, _ := strings.Cut(got, "{")
		require.Contains(t, values, strings.TrimSuffix(strings.TrimSuffix(value, "\n"), "}"))
		require.Equal(t, all[:5], got[:5], "kind")
	}
}

func mergeOnce(f Function, rows table.Rows, fields []table.Field) string {
	out := &table.Batch{}
	for _, v := range rows.Batches[0].Columns {
		out.Columns = append(out.Columns, table.Vector{Layout: v.Layout})
	}
	kept, seq, err := f.Merge(rows, out)
	switch {
	case err != nil:
		return "error: " + err.Error() + "\n"
	case kept == None:
		return "nothing\n"
	case kept == Made:
		kept = 0
	default:
		out, kept, seq = rows.Batches[0], rows.Refs[kept].Row(), rows.Seqs[kept]
	}
	return fmt.Sprintf("%s %d %s\n", out.Kinds[kept], seq, table.AppendCanonicalRow(nil, fields, out, kept))
}

// appendRow appends a row of JSON values, id excepted.
func appendRow(t *testing.T, b *table.Batch, fields []table.Field, kind, values string) {
	b.Columns[0].AppendWord(1)
	d := json.NewDecoder(strings.NewReader("[" + values + "]"))
	d.UseNumber()
	var list []any
	require.NoError(t, d.Decode(&list), values)
	require.Len(t, list, len(fields)-1)
	for i, x := range list {
		v, typ := &b.Columns[i+1], fields[i+1].Type
		if x == nil {
			v.AppendNull()
			continue
		}
		word, bytes := parseValue(t, &typ, x)
		if v.Layout == table.Words {
			v.AppendWord(word)
		} else {
			v.AppendBytes(bytes)
		}
	}
	kinds := []string{"+I", "-U", "+U", "-D"}
	require.Contains(t, kinds, kind)
	b.Kinds = append(b.Kinds, table.Kind(slices.Index(kinds, kind)))
}

func parseValue(t *testing.T, typ *table.Type, x any) (int64, []byte) {
	switch typ.Root {
	case table.Boolean:
		return truth(x.(bool)), nil
	case table.Float:
		f, err := strconv.ParseFloat(fmt.Sprint(x), 32)
		require.NoError(t, err)
		return floatCell(float32(f)).word, nil
	case table.Double:
		f, err := strconv.ParseFloat(fmt.Sprint(x), 64)
		require.NoError(t, err)
		return doubleCell(f).word, nil
	case table.Decimal:
		v := table.Vector{Layout: typ.Layout()}
		require.NoError(t, table.AppendDecimalText(&v, typ, []byte(x.(string))))
		if v.Layout == table.Words {
			return v.Words[0], nil
		}
		return 0, v.Bytes(0)
	case table.VarBinary:
		b, err := base64.StdEncoding.DecodeString(x.(string))
		require.NoError(t, err)
		return 0, b
	case table.VarChar:
		return 0, []byte(x.(string))
	case table.Array, table.Map, table.RowType:
		return 0, appendNested(t, nil, typ, x.([]any))
	}
	n, err := x.(json.Number).Int64()
	require.NoError(t, err)
	return n, nil
}

// appendNested appends the cell of a list of elements, of pairs, or of members.
func appendNested(t *testing.T, dst []byte, typ *table.Type, list []any) []byte {
	for i, x := range list {
		switch typ.Root {
		case table.Array:
			dst = appendNestedValue(t, dst, typ.Element, x)
		case table.Map:
			dst = appendNestedValue(t, dst, typ.Key, x.([]any)[0])
			dst = appendNestedValue(t, dst, typ.Element, x.([]any)[1])
		default:
			dst = appendNestedValue(t, dst, &typ.Fields[i].Type, x)
		}
	}
	if typ.Root == table.RowType {
		return dst
	}
	return table.EndNested(dst)
}

func appendNestedValue(t *testing.T, dst []byte, typ *table.Type, x any) []byte {
	if x == nil {
		return table.AppendNestedNull(dst)
	}
	if typ.Nested() {
		return appendNested(t, table.OpenNested(dst), typ, x.([]any))
	}
	word, bytes := parseValue(t, typ, x)
	if typ.Layout() == table.Words {
		return table.AppendNestedWord(dst, word)
	}
	return table.AppendNestedBytes(dst, bytes)
}

// TestScripts: every function has a script.
func TestScripts(t *testing.T) {
	b, err := os.ReadFile("testdata/aggregation.txt")
	require.NoError(t, err)
	for name := range methods {
		if name != table.PrimaryKeyFunction {
			require.Contains(t, string(b), "aggregate-function="+name+"\n")
		}
	}
}
