//go:build synctests

package simulation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sink/table"
	"sink/table/datafile"
	"sink/table/manifest"
	"sink/table/object"
	"sink/table/scan"
)

// row is a row of a file.
type row struct {
	kind table.Kind
	key  string
	seq  int64
	text string // canonical JSON
	tp   table.TopicPartition
	at   int64 // offset of its record
}

// wanted is what one record has to give one table.
type wanted struct {
	kind table.Kind
	key  string
	text string
}

// judge compares one table with the log.
type judge struct {
	t       *testing.T
	w       *world
	cfg     *target
	path    table.Path
	schema  *table.Schema
	schemas *manifest.Schemas
	columns []int
	fields  []table.Field
	files   map[string][]row
	past    past

	offsets []table.Offsets // by snapshot id - 1
	foreign []row           // the stranger's
	place   map[record]int64
	got     map[record][]string
	fold    map[string]row
	emptied map[record]bool  // truncations that took rows
	last    map[string]int64 // sequence number of the newest change of a key
	newest  map[string]record
	log     map[record]int // places in the log

	covers map[string]string // by key: the rows of the records that the map covers, where compactions make the changelog
}

type record struct {
	tp table.TopicPartition
	at int64
}

// judge looks at everything that the run has left. calm says that nothing went wrong on the way.
func (w *world) judge(calm bool) {
	end := map[table.TopicPartition]int64{}
	for _, s := range w.source.log {
		end[s.tp] = max(end[s.tp], s.offset+1)
	}
	for i := range w.targets {
		newJudge(w, &w.targets[i]).settle()
		j := newJudge(w, &w.targets[i])
		j.history()
		j.compare()
		j.groupCommits(end)
		j.leftovers(calm)
	}
	w.letters()
	require.Empty(w.t, w.theirs, "rows that the stranger has committed")
}

func newJudge(w *world, cfg *target) *judge {
	j := &judge{
		t: w.t, w: w, cfg: cfg, path: pathOf(cfg.Name), files: map[string][]row{}, past: past{w.objects}, place: map[record]int64{}, got: map[record][]string{},
		fold: map[string]row{}, emptied: map[record]bool{}, last: map[string]int64{}, newest: map[string]record{}, log: map[record]int{},
		covers: map[string]string{},
	}
	for i, s := range w.source.log {
		j.log[record{s.tp, s.offset}] = i
	}
	return j
}

// open reads the newest schema; false if there is no table.
func (j *judge) open() bool {
	schema, err := manifest.LatestSchema(context.Background(), j.w.objects, j.path)
	if err != nil {
		return false
	}
	j.schema, j.schemas = schema, manifest.NewSchemas(j.w.objects, j.path)
	for _, name := range []string{"id", "region", "val", "extra", "_t", "_p", "_o"} {
		if c := schema.FieldIndex(name); c >= 0 {
			j.columns = append(j.columns, c)
			j.fields = append(j.fields, schema.Fields[c])
		}
	}
	return true
}

// history walks over all snapshots, those that have expired, too.
func (j *judge) history() {
	ctx := context.Background()
	if !j.open() {
		return
	}
	latest, ok, err := manifest.Latest(ctx, j.w.objects, j.path)
	require.NoError(j.t, err)
	if !ok {
		return
	}
	earliest, _, err := manifest.Earliest(ctx, j.w.objects, j.path)
	require.NoError(j.t, err)
	j.w.met.add("expiries", int(earliest-1))
	for id := int64(1); id <= latest; id++ {
		store := object.Store(j.past)
		if id >= earliest {
			store = j.w.objects
		}
		s, err := manifest.ReadSnapshot(ctx, store, j.path, id)
		require.NoError(j.t, err, "snapshot ids are dense")
		progress, ours, err := table.ParseProgress(s.Properties)
		require.NoError(j.t, err)
		if s.CommitUser == group {
			require.True(j.t, ours)
			j.advance(s, progress.Offsets)
		} else {
			j.advance(s, j.offsetsOf(id-1))
		}
		changes, err := manifest.ReadChangelog(ctx, store, j.path, s, nil)
		require.NoError(j.t, err)
		live, err := manifest.ReadLive(ctx, store, j.path, s, nil)
		require.NoError(j.t, err)
		if j.tells() {
			j.compacted(store, s, live, changes)
		} else {
			for k := range changes {
				j.replay(id, &changes[k], progress.MaxSequence, s.CommitUser)
			}
			require.Equal(j.t, texts(j.fold), j.merge(live), "%s: snapshot %d: rows and folded changelog differ (I1)", j.path, id)
		}
		if id >= earliest {
			j.exist(id, append(live, changes...))
		}
	}
}

// exist checks that the files of a snapshot are there.
func (j *judge) exist(id int64, files []table.File) {
	for i := range files {
		partition, err := table.PartitionPath(j.schema, files[i].Bucket.Partition)
		require.NoError(j.t, err)
		_, err = j.w.objects.Get(context.Background(), j.path.DataFile(partition, files[i].Bucket.Number, files[i].Name))
		require.NoError(j.t, err, "%s: snapshot %d", j.path, id)
	}
}

// advance checks that a map goes on from the one before.
func (j *judge) advance(s *manifest.Snapshot, now table.Offsets) {
	id := s.ID
	if len(j.offsets) > 0 {
		for tp, before := range j.offsets[len(j.offsets)-1] {
			after, ok := now[tp]
			require.True(j.t, ok, "%s: snapshot %d forgot %v", j.path, id, tp)
			require.GreaterOrEqual(j.t, after.Offset, before.Offset, "%s: snapshot %d: %v went back", j.path, id, tp)
		}
	}
	if s.CommitKind != manifest.Append {
		if s.CommitUser == group {
			j.w.met.add("compactions", 1)
		}
		require.Contains(j.t, []manifest.CommitKind{manifest.Compact, manifest.Overwrite}, s.CommitKind) // the latter of a rescale
		require.Equal(j.t, j.offsetsOf(id-1), now, "%s: snapshot %d: a compaction moves no offset", j.path, id)
		if !j.tells() {
			require.Empty(j.t, s.ChangelogList)
		}
	}
	j.offsets = append(j.offsets, now)
}

// covered reports whether the map of a snapshot covers an offset, and the one before did not.
func (j *judge) covered(id int64, tp table.TopicPartition, offset int64) bool {
	now := j.offsets[id-1][tp].Offset
	var before int64
	if id > 1 {
		before = j.offsets[id-2][tp].Offset
	}
	return before <= offset && offset < now
}

// replay folds a changelog file.
func (j *judge) replay(id int64, f *table.File, highest int64, user string) {
	rows := j.read(f)
	for i, r := range rows {
		where := fmt.Sprintf("%s: snapshot %d, %s%s", j.path, id, r.kind, r.text)
		at := record{r.tp, r.at}
		if user != group {
			name := j.cfg.Name + strings.TrimPrefix(r.text[:strings.Index(r.text, `,"val"`)], "{")
			require.True(j.t, j.w.theirs[name], "%s: nobody has written this", where)
			delete(j.w.theirs, name)
			j.foreign = append(j.foreign, r)
			j.fold[r.key], j.last[r.key] = r, r.seq
			continue
		}
		if gone, ok := j.fold[r.key]; ok && r.kind == table.Delete && gone.text == r.text {
			if at, ok = j.truncated(id, r); !ok {
				continue
			}
		}
		require.True(j.t, j.covered(id, at.tp, at.at), "%s: the map goes from %v to %v (I2)", where, j.offsetsOf(id - 1)[at.tp], j.offsetsOf(id)[at.tp])
		if other, ok := j.place[at]; ok {
			require.Equal(j.t, id, other, "%s: the record is in two snapshots (I2)", where)
		}
		j.place[at] = id
		require.GreaterOrEqual(j.t, j.log[at], j.log[j.newest[r.key]], "%s: a change comes after one of its key that was made later", where)
		j.newest[r.key] = at
		j.got[at] = append(j.got[at], r.kind.String()+r.text)
		if last, ok := j.last[r.key]; ok {
			require.Greater(j.t, r.seq, last, "%s: sequence numbers of a key rise (I5)", where)
		}
		j.last[r.key] = r.seq
		require.LessOrEqual(j.t, r.seq, highest, "%s: above sink.max-sequence", where)
		switch r.kind {
		case table.UpdateBefore:
			require.Less(j.t, i+1, len(rows), "%s: no +U (I3)", where)
			next := rows[i+1]
			require.True(j.t, next.kind == table.UpdateAfter && next.key == r.key && next.seq == r.seq+1 && next.at == r.at, "%s: then comes %+v (I3)", where, next)
			delete(j.fold, r.key)
		case table.Delete:
			delete(j.fold, r.key)
		case table.UpdateAfter:
			require.True(j.t, i > 0 && rows[i-1].kind == table.UpdateBefore, "%s: no -U (I3)", where)
			j.fold[r.key] = r
		default:
			j.fold[r.key] = r
		}
	}
}

// offsetsOf returns the map of a snapshot; nil before the first.
func (j *judge) offsetsOf(id int64) table.Offsets {
	if id == 0 {
		return nil
	}
	return j.offsets[id-1]
}

// merge is what a merge on read gives: of each key the row of the highest sequence number.
func (j *judge) merge(files []table.File) []string {
	newest := map[string]row{}
	for i := range files {
		for _, r := range j.read(&files[i]) {
			if other, ok := newest[r.key]; ok {
				require.NotEqual(j.t, other.seq, r.seq, "%s: two rows of one number", j.path)
				if other.seq > r.seq {
					continue
				}
			}
			newest[r.key] = r
		}
	}
	maps.DeleteFunc(newest, func(_ string, r row) bool { return r.kind.Retracts() })
	return texts(newest)
}

func texts(rows map[string]row) []string {
	out := make([]string, 0, len(rows))
	for _, r := range rows {
		out = append(out, r.text)
	}
	slices.Sort(out)
	return out
}

// read reads a file once.
func (j *judge) read(f *table.File) []row {
	if rows, ok := j.files[f.Name]; ok {
		return rows
	}
	ctx := context.Background()
	schema, err := j.schemas.Get(ctx, f.SchemaID)
	require.NoError(j.t, err)
	r, err := datafile.Open(ctx, j.past, j.path, f, schema, j.schema, j.columns)
	require.NoError(j.t, err)
	defer r.Close()
	b := table.NewBatch(j.fields)
	var seqs []int64
	for err == nil {
		_, err = r.Next(b, &seqs, 1<<20)
	}
	if !errors.Is(err, io.EOF) {
		require.NoError(j.t, err)
	}
	require.EqualValues(j.t, f.Rows, b.Len())
	rows := make([]row, b.Len())
	n := len(j.fields)
	for i := range rows {
		text := string(table.AppendCanonicalRow(nil, j.fields, b, i))
		rows[i] = row{
			kind: b.Kinds[i], key: j.key(b.Columns[0].Words[i], string(b.Columns[1].Bytes(i))), seq: seqs[i], text: text,
			tp: table.TopicPartition{Topic: string(b.Columns[n-3].Bytes(i)), Partition: int32(b.Columns[n-2].Words[i])}, at: b.Columns[n-1].Words[i],
		}
	}
	j.files[f.Name] = rows
	return rows
}

func (j *judge) key(id int64, region string) string {
	if len(j.cfg.PartitionBy) > 0 {
		return fmt.Sprintf("%d/%s", id, region)
	}
	return fmt.Sprint(id)
}

// concerns reports whether a record is for the table.
func (j *judge) concerns(s *sent) bool {
	return slices.Contains(j.cfg.Topics, s.tp.Topic) && (j.cfg.source == "" || j.cfg.source == s.source)
}

// repeated reports whether the table takes a record for one that was sent again.
func (j *judge) repeated(s *sent) bool { return s.again && j.cfg.Deduplicate }

// empties reports whether a record takes all rows of the table.
func (j *judge) empties(s *sent) bool { return s.op == 'e' && !j.repeated(s) }

// expect is what a record has to give the table.
func (j *judge) expect(s *sent) []wanted {
	one := func(kind table.Kind, it *item) wanted {
		text := fmt.Sprintf(`{"id":%d,"region":%s,"val":%s`, it.id, quoted(it.region), quoted(it.val))
		if len(j.columns) == 7 {
			text += `,"extra":` + quoted(it.extra)
		}
		text += fmt.Sprintf(`,"_t":%q,"_p":%d,"_o":%d}`, s.tp.Topic, s.tp.Partition, s.offset)
		return wanted{kind, j.key(it.id, it.region), text}
	}
	if j.repeated(s) {
		return nil
	}
	switch s.op {
	case 'c', 'r':
		return []wanted{one(table.Insert, s.after)}
	case 'd':
		return []wanted{one(table.Delete, s.before)}
	case 'k':
		return []wanted{one(table.Delete, &item{id: s.before.id})}
	case 'u':
		if j.key(s.before.id, s.before.region) != j.key(s.after.id, s.after.region) {
			return []wanted{one(table.Delete, s.before), one(table.Insert, s.after)}
		}
		return []wanted{one(table.UpdateBefore, s.before), one(table.UpdateAfter, s.after)}
	}
	return nil
}

// compare holds the whole changelog against the log, and the rows in the end against the databases.
func (j *judge) compare() {
	rows := map[string]string{}
	for i := range j.w.source.log {
		s := &j.w.source.log[i]
		if !j.concerns(s) {
			continue
		}
		var want []string
		for _, x := range j.expect(s) {
			want = append(want, x.kind.String()+x.text)
			if x.kind.Retracts() {
				delete(rows, x.key)
			} else {
				rows[x.key] = x.text
			}
		}
		if j.empties(s) {
			for _, text := range rows {
				want = append(want, table.Delete.String()+text)
			}
			clear(rows)
		}
		if j.tells() {
			continue // of several changes of a row a compaction tells one: see compacted
		}
		at := record{s.tp, s.offset}
		got := j.got[at]
		slices.Sort(want)
		slices.Sort(got)
		require.Equal(j.t, want, got, "%s: %v: op %c: rows in the changelog", j.path, at, s.op)
		delete(j.got, at)
	}
	require.Empty(j.t, j.got, "%s: changes of no record", j.path)
	for _, r := range j.foreign {
		rows[r.key] = r.text
	}
	want := slices.Sorted(maps.Values(rows))
	if len(want) == 0 {
		want = []string{}
	}
	require.Equal(j.t, want, texts(j.fold), "%s: rows in the end", j.path)
	if len(j.offsets) > 0 {
		require.Equal(j.t, want, j.scan(), "%s: rows as sink read gives them", j.path)
	}
}

// scan reads the table with the project's reader.
func (j *judge) scan() []string {
	opened, err := scan.Open(context.Background(), j.w.objects, j.path)
	require.NoError(j.t, err)
	plan, err := opened.Plan(context.Background(), scan.At{}, nil)
	require.NoError(j.t, err)
	options := scan.Options{}
	for _, f := range j.fields {
		options.Columns = append(options.Columns, f.Name)
	}
	fields, err := plan.Fields(options)
	require.NoError(j.t, err)
	rows := []string{}
	for batch, err := range plan.Rows(context.Background(), options) {
		require.NoError(j.t, err)
		for i := range batch.Len() {
			rows = append(rows, string(table.AppendCanonicalRow(nil, fields, batch, i)))
		}
	}
	slices.Sort(rows)
	return rows
}

// groupCommits checks that Kafka was never told more than what the snapshots of that moment cover, but for records that
// give no row (I4).
func (j *judge) groupCommits(end map[table.TopicPartition]int64) {
	rows := map[table.TopicPartition][]int64{}
	for i := range j.w.source.log {
		if s := &j.w.source.log[i]; j.concerns(s) && (len(j.expect(s)) > 0 || j.emptied[record{s.tp, s.offset}]) {
			rows[s.tp] = append(rows[s.tp], s.offset)
		}
	}
	for _, c := range j.w.commits {
		if !slices.Contains(j.cfg.Topics, c.tp.Topic) {
			continue
		}
		covered := int64(0)
		if id := c.newest[j.cfg.Name]; id > 0 {
			covered = j.offsets[id-1][c.tp].Offset
		}
		for _, at := range rows[c.tp] {
			require.False(j.t, covered <= at && at < c.offset, "%s: after %v the group was told %d of %v (%s) when snapshot %d covered %d, and record %d gives rows (I4)",
				j.path, c.when, c.offset, c.tp, c.marks, c.newest[j.cfg.Name], covered, at)
		}
	}
	for tp, to := range end {
		if slices.Contains(j.cfg.Topics, tp.Topic) {
			found := slices.ContainsFunc(j.w.commits, func(c groupCommit) bool { return c.tp == tp && c.offset >= to })
			require.True(j.t, found, "the group never heard of the end of %v", tp)
		}
	}
}
