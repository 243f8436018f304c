package flush

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"sink/table"
	"sink/table/datafile"
	"sink/table/object"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestScripts runs testdata/*.txt. The commands:
//
//	table [key=(a,b)] [partition=(p)] [bucket=4] [option=value ...]  columns "name TYPE" in the input, one a line
//	add          one record a line: "+I 1 a", or "-U 1 a / +U 1 b"; "null" is a null; prints the errors
//	raise        lifts the sequence numbers
//	spill, seal  what the writer does; seal prints the rows by kind
//	flush        the files of the delta, row by row with sequence number and kind, and what the store did
//	discard, drop  the writer and the checkpoint let go
//	fail op=x [nth=n]  the next call of that kind fails, or the n-th
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		s := &script{t: t}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			s.t = t
			return s.run(d)
		})
	})
}

type script struct {
	t          *testing.T
	schema     *table.Schema
	mem        *object.Mem
	fault      *object.Fault
	logged     int
	writer     *Writer
	checkpoint *Checkpoint
	files      int
}

func (s *script) run(d *datadriven.TestData) string {
	switch d.Cmd {
	case "table":
		return s.table(d)
	case "add":
		return s.add(d.Input)
	case "spill":
		return s.outcome(s.writer.Spill(s.t.Context()))
	case "raise":
		var seq int64
		d.ScanArgs(s.t, "above", &seq)
		s.writer.Raise(seq)
		return ""
	case "seal":
		s.checkpoint = s.writer.Seal()
		kinds := s.checkpoint.Rows()
		return fmt.Sprintf("+I %d, -U %d, +U %d, -D %d, up to %d\n", kinds[0], kinds[1], kinds[2], kinds[3], s.checkpoint.MaxSequence())
	case "flush":
		delta, err := s.checkpoint.Flush(s.t.Context())
		return s.outcome(err) + s.delta(&delta)
	case "discard":
		s.writer.Discard(s.t.Context())
		return s.outcome(nil)
	case "drop":
		s.checkpoint.Discard(s.t.Context())
		return s.outcome(nil)
	case "fail":
		op, nth := "", 1
		d.ScanArgs(s.t, "op", &op)
		d.MaybeScanArgs(s.t, "nth", &nth)
		s.fault = object.NewFault(s.mem, object.Rule{Ops: []object.Op{object.Op(op)}, Nth: nth, Err: errors.New("as told")})
		s.logged = 0
		s.writer.plan.cfg.Store = s.fault
		return s.reopen()
	}
	s.t.Fatalf("unknown command %s", d.Cmd)
	return ""
}

func (s *script) table(d *datadriven.TestData) string {
	var fields []table.Field
	for line := range strings.Lines(d.Input) {
		name, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		typ, err := table.ParseType(text)
		require.NoError(s.t, err)
		fields = append(fields, table.Field{Name: name, Type: typ})
	}
	options := map[string]string{"file.compression": "none"}
	if d.HasArg("key") {
		options["bucket"], options["changelog-producer"] = "1", "input"
	}
	var keys, partitions []string
	for _, arg := range d.CmdArgs {
		switch arg.Key {
		case "key":
			keys = arg.Vals
		case "partition":
			partitions = arg.Vals
		default:
			options[arg.Key] = strings.Join(arg.Vals, ",")
		}
	}
	s.schema = table.NewSchema(fields, keys, partitions, options)
	require.NoError(s.t, s.schema.Validate())
	s.mem = object.NewMem()
	s.fault = object.NewFault(s.mem)
	s.logged, s.files = 0, 0
	var err error
	s.writer, err = New(s.config(s.fault))
	require.NoError(s.t, err)
	return ""
}

func (s *script) config(store object.Store) Config {
	return Config{
		Schema: s.schema, Store: store, Path: "db.db/t", Encoders: NewEncoders(1, 1), // one by one, in order
		NewID: func() string { s.files++; return strconv.Itoa(s.files) }, ChunkRows: 4,
	}
}

// reopen puts the present store below a writer and a checkpoint that are under way.
func (s *script) reopen() string {
	p, err := newPlan(s.config(s.fault), s.writer.plan.buckets)
	require.NoError(s.t, err)
	s.writer.plan = p
	if s.checkpoint != nil {
		s.checkpoint.plan = p
		for _, j := range s.checkpoint.jobs {
			j.plan = p
		}
	}
	return ""
}

func (s *script) add(input string) string {
	var out strings.Builder
	for line := range strings.Lines(input) {
		for row := range strings.SplitSeq(strings.TrimSpace(line), " / ") {
			appendText(s.t, s.writer.Batch(), row)
		}
		if err := s.writer.Add(); err != nil {
			fmt.Fprintln(&out, err)
		}
	}
	return out.String()
}

func appendText(t *testing.T, b *table.Batch, row string) {
	cells := strings.Fields(row)
	require.Len(t, cells, len(b.Columns)+1, row)
	for i, text := range cells[1:] {
		v := &b.Columns[i]
		switch {
		case text == "null":
			v.AppendNull()
		case v.Layout == table.Words:
			n, err := strconv.ParseInt(text, 10, 64)
			require.NoError(t, err)
			v.AppendWord(n)
		default:
			v.AppendBytes([]byte(text))
		}
	}
	kinds := map[string]table.Kind{"+I": table.Insert, "-U": table.UpdateBefore, "+U": table.UpdateAfter, "-D": table.Delete}
	kind, ok := kinds[cells[0]]
	require.True(t, ok, row)
	b.Kinds = append(b.Kinds, kind)
}

// outcome is an error, and what the store was asked for.
func (s *script) outcome(err error) string {
	var out strings.Builder
	log := s.fault.Log()
	for _, line := range log[s.logged:] {
		fmt.Fprintln(&out, line)
	}
	s.logged = len(log)
	if err != nil {
		fmt.Fprintln(&out, "error:", err)
	}
	return out.String()
}

func (s *script) delta(d *table.Delta) string {
	var out strings.Builder
	for _, list := range []struct {
		name  string
		files []table.File
	}{{"changelog", d.Changelog}, {"data", d.Added}} {
		for i := range list.files {
			f := &list.files[i]
			partition, err := table.PartitionPath(s.schema, f.Bucket.Partition)
			require.NoError(s.t, err)
			fmt.Fprintf(&out, "%s %sbucket-%d/%s rows %d deletes %d seq %d..%d\n", list.name, partition, f.Bucket.Number, f.Name, f.Rows, f.DeleteRows, f.MinSeq, f.MaxSeq)
			for _, r := range readFile(s.t, s.mem, "db.db/t", s.schema, f) {
				fmt.Fprintln(&out, "  "+r.String())
			}
		}
	}
	return out.String()
}

// storedRow is a row as a file tells it.
type storedRow struct {
	seq   int64
	kind  table.Kind
	cells []string
}

func (r storedRow) String() string {
	return fmt.Sprintf("%d %s %s", r.seq, r.kind, strings.Join(r.cells, " "))
}

func readFile(t testing.TB, store object.Store, path table.Path, schema *table.Schema, f *table.File) []storedRow {
	columns := make([]int, len(schema.Fields))
	for i := range columns {
		columns[i] = i
	}
	r, err := datafile.Open(context.Background(), store, path, f, schema, schema, columns)
	require.NoError(t, err)
	defer r.Close()
	b := table.NewBatch(schema.Fields)
	var rows []storedRow
	for {
		b.Reset()
		var seqs []int64
		n, err := r.Next(b, &seqs, 1000)
		if errors.Is(err, io.EOF) {
			return rows
		}
		require.NoError(t, err)
		for i := range n {
			rows = append(rows, storedRow{seqs[i], b.Kinds[i], cellTexts(b, i)})
		}
	}
}

func cellTexts(b *table.Batch, row int) []string {
	cells := make([]string, len(b.Columns))
	for c := range b.Columns {
		switch v := &b.Columns[c]; {
		case v.IsNull(row):
			cells[c] = "null"
		case v.Layout == table.Words:
			cells[c] = strconv.FormatInt(v.Words[row], 10)
		default:
			cells[c] = string(v.Bytes(row))
		}
	}
	return cells
}
