//go:build integration

package integration

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/minio/minio-go/v7"
	"github.com/stretchr/testify/require"
)

// lake is a warehouse of one test.
type lake struct {
	uri    string
	s3     bool
	server string // of S3, host:port
	client *minio.Client
}

const (
	disk = "disk"
	s3   = "s3"
)

// newLake is an empty warehouse on "disk" or "s3".
func newLake(t testing.TB, kind string) lake {
	t.Helper()
	if kind == s3 {
		return lake{uri: "s3://" + bucket + "/" + slug(t), s3: true, server: shared.s3, client: shared.bucket}
	}
	return lake{uri: "file://" + t.TempDir()}
}

// path is the folder of a lake on disk, or the prefix in the bucket.
func (l lake) path() string {
	if l.s3 {
		return strings.TrimPrefix(l.uri, "s3://"+bucket+"/")
	}
	return strings.TrimPrefix(l.uri, "file://")
}

func (l lake) table(name string) target { return target{lake: l, name: name} }

// target is a table as others see it.
type target struct {
	lake lake
	name string // database.table
}

func (x target) dir() string {
	database, name, _ := strings.Cut(x.name, ".")
	return path.Join(x.lake.path(), database+".db", name)
}

// java are the words that name the table to paimon-verify.
func (x target) java(command string, more ...string) []string {
	words := []string{command, "--warehouse", x.lake.uri, "--table", x.name}
	if x.lake.s3 {
		words = append(words, "--s3-endpoint", "http://"+x.lake.server, "--s3-access-key", accessKey, "--s3-secret-key", secretKey)
	}
	return append(words, more...)
}

func (x target) python(impl string, more ...string) []string {
	uri := x.lake.uri
	if !x.lake.s3 {
		uri = x.lake.path()
	}
	words := []string{"--warehouse", uri, "--table", x.name, "--impl", impl}
	if x.lake.s3 {
		words = append(words, "--option", "s3.endpoint=http://"+x.lake.server, "--option", "s3.access-key="+accessKey,
			"--option", "s3.secret-key="+secretKey, "--option", "s3.region=us-east-1", "--option", "s3.path-style-access=true",
			"--option", "s3.path.style.access=true")
	}
	return append(words, more...)
}

// cli are the words that name the table to the sink's own commands.
func (x target) cli(command string, more ...string) []string {
	words := []string{command, x.name, "--warehouse", x.lake.uri}
	if x.lake.s3 {
		words = append(words, "--s3-endpoint", "http://"+x.lake.server, "--s3-region", "us-east-1", "--s3-path-style")
	}
	return append(words, more...)
}

// readers are all who read a table; the first is the judge.
var readers = []string{"paimon", "pypaimon", "rust", "sink"}

// rows are the rows by primary key, in canonical JSON, as one of readers sees them; snapshot 0 is the newest.
func (x target) rows(t testing.TB, reader string, snapshot int64) []string {
	t.Helper()
	var at []string
	if snapshot > 0 {
		at = []string{"--snapshot", strconv.FormatInt(snapshot, 10)}
	}
	switch reader {
	case "paimon":
		return lines(shared.java.must(t, x.java("rows", at...)...))
	case "sink":
		return lines(sink(t, x.cli("read", append(at, "-o", "json")...)...))
	}
	return lines(shared.python.must(t, x.python(reader, at...)...))
}

// agreed are the rows of the newest snapshot, after all readers have given the same. Rows of `sink read` come in the
// order of its files, so they are compared as a set.
func (x target) agreed(t testing.TB) []string { return x.agreedBy(t, readers...) }

// agreedBy leaves out readers that cannot show the table's values.
func (x target) agreedBy(t testing.TB, readers ...string) []string {
	t.Helper()
	judged := x.rows(t, readers[0], 0)
	for _, reader := range readers[1:] {
		got := x.rows(t, reader, 0)
		want := judged
		if reader == "sink" {
			want = sorted(judged)
			got = sorted(got)
		}
		requireSameLines(t, want, got, "%s: %s and %s read different rows", x.name, readers[0], reader)
	}
	return judged
}

// change is one row of the changelog as a streaming reader gets it.
type change struct {
	Snapshot  int64           `json:"snapshot"`
	Partition json.RawMessage `json:"partition"`
	Bucket    int             `json:"bucket"`
	Kind      string          `json:"kind"`
	Row       json.RawMessage `json:"row"`
	key       string          // by keyed, once
}

// changes is the whole changelog as the real Paimon streams it, after the sink's own reader has given the same.
func (x target) changes(t testing.TB) []change {
	t.Helper()
	judged := parseChanges(t, shared.java.must(t, x.java("changelog", "--mode", "earliest")...))
	ours := parseChanges(t, sink(t, x.cli("changelog", "--from", "earliest", "-o", "json")...))
	requireSameLines(t, changeLines(judged), changeLines(ours), "%s: %s and the sink read different changelogs", x.name, readers[0])
	return judged
}

func parseChanges(t testing.TB, text string) []change {
	t.Helper()
	var all []change
	for _, line := range lines(text) {
		var c change
		require.NoError(t, json.Unmarshal([]byte(line), &c), "%s", line)
		all = append(all, c)
	}
	return all
}

// changeLines are changes as comparable text: by snapshot and bucket, which readers order freely among themselves, and
// in reading order within.
func changeLines(all []change) []string {
	all = append([]change(nil), all...)
	sort.SliceStable(all, func(i, j int) bool {
		a, b := all[i], all[j]
		if a.Snapshot != b.Snapshot {
			return a.Snapshot < b.Snapshot
		}
		if string(a.Partition) != string(b.Partition) {
			return string(a.Partition) < string(b.Partition)
		}
		return a.Bucket < b.Bucket
	})
	text := make([]string, len(all))
	for i, c := range all {
		text[i] = strconv.FormatInt(c.Snapshot, 10) + " " + string(c.Partition) + " " + strconv.Itoa(c.Bucket) + " " + c.Kind + " " + string(c.Row)
	}
	return text
}

// fsck wants the real Paimon to find nothing wrong: metadata, files, statistics, and the changelog replayed to the rows
// of every snapshot. Without flags it also wants every image in the changelog to be true, and no orphan.
func (x target) fsck(t testing.TB, flags ...string) {
	t.Helper()
	if flags == nil {
		flags = []string{"--strict"}
	}
	a, err := shared.java.ask(x.java("fsck", flags...)...)
	require.NoError(t, err)
	require.Zero(t, a.RC, "%s: fsck:\n%s%s", x.name, lastLines([]byte(a.Out), 40), a.Err)
	require.NotContains(t, a.Out, "INFO replay skipped")
}

// field is a column of the newest schema.
type field struct {
	Name string          `json:"name"`
	Type json.RawMessage `json:"type"`
}

type schema struct {
	ID          int64             `json:"id"`
	Fields      []field           `json:"fields"`
	PrimaryKeys []string          `json:"primaryKeys"`
	Options     map[string]string `json:"options"`
}

// schema is the newest schema file.
func (x target) schema(t testing.TB) schema {
	t.Helper()
	var s schema
	names := x.list(t, "schema/schema-")
	require.NotEmpty(t, names, "%s has no schema", x.name)
	require.NoError(t, json.Unmarshal(x.get(t, newest(names)), &s))
	return s
}

// snapshot is what the tests look at of a snapshot file.
type snapshot struct {
	ID         int64             `json:"id"`
	UUID       string            `json:"uuid"`
	User       string            `json:"commitUser"`
	Kind       string            `json:"commitKind"`
	Identifier int64             `json:"commitIdentifier"`
	Properties map[string]string `json:"properties"`
}

// covered are the next offsets that a snapshot of ours carries, by topic and partition.
func (s snapshot) covered(t testing.TB) map[string]map[int32]int64 {
	t.Helper()
	var cursors []struct {
		Topic     string `json:"topic"`
		Partition int32  `json:"partition"`
		Offset    int64  `json:"offset"`
	}
	require.NoError(t, json.Unmarshal([]byte(s.Properties["sink.offsets"]), &cursors), "%s", s.Properties["sink.offsets"])
	result := map[string]map[int32]int64{}
	for _, c := range cursors {
		if result[c.Topic] == nil {
			result[c.Topic] = map[int32]int64{}
		}
		result[c.Topic][c.Partition] = c.Offset
	}
	return result
}

// snapshotIDs are the ids of all snapshot files, oldest first; none if there is no table yet.
func (x target) snapshotIDs(t testing.TB) []int64 {
	t.Helper()
	names := x.list(t, "snapshot/snapshot-")
	ids := make([]int64, len(names))
	for i, name := range names {
		ids[i] = number(strings.TrimPrefix(name, "snapshot/snapshot-"))
	}
	slices.Sort(ids)
	return ids
}

func (x target) snapshot(t testing.TB, id int64) snapshot {
	t.Helper()
	var s snapshot
	require.NoError(t, json.Unmarshal(x.get(t, "snapshot/snapshot-"+strconv.FormatInt(id, 10)), &s))
	return s
}

// snapshots are all of them, oldest first.
func (x target) snapshots(t testing.TB) []snapshot {
	t.Helper()
	var all []snapshot
	for _, id := range x.snapshotIDs(t) {
		all = append(all, x.snapshot(t, id))
	}
	return all
}

// latest is the newest snapshot.
func (x target) latest(t testing.TB) snapshot {
	t.Helper()
	ids := x.snapshotIDs(t)
	require.NotEmpty(t, ids, "%s has no snapshot", x.name)
	return x.snapshot(t, ids[len(ids)-1])
}

// newest is the name with the highest number at its end.
func newest(names []string) string {
	number := func(name string) int {
		n, _ := strconv.Atoi(name[strings.LastIndexByte(name, '-')+1:])
		return n
	}
	best := names[0]
	for _, name := range names {
		if number(name) > number(best) {
			best = name
		}
	}
	return best
}

// list is the names of the table's files below a prefix, relative to the table.
func (x target) list(t testing.TB, prefix string) []string {
	t.Helper()
	var names []string
	if x.lake.s3 {
		for o := range x.lake.client.ListObjects(t.Context(), bucket, minio.ListObjectsOptions{Prefix: x.dir() + "/" + prefix, Recursive: true}) {
			require.NoError(t, o.Err)
			names = append(names, strings.TrimPrefix(o.Key, x.dir()+"/"))
		}
		return names
	}
	err := filepath.WalkDir(x.dir(), func(name string, entry fs.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil
		}
		if err == nil && !entry.IsDir() {
			rel := strings.TrimPrefix(name, x.dir()+"/")
			if strings.HasPrefix(rel, prefix) {
				names = append(names, rel)
			}
		}
		return err
	})
	require.NoError(t, err)
	return names
}

func (x target) get(t testing.TB, name string) []byte {
	t.Helper()
	var b []byte
	var err error
	if x.lake.s3 {
		var o *minio.Object
		o, err = x.lake.client.GetObject(t.Context(), bucket, x.dir()+"/"+name, minio.GetObjectOptions{})
		require.NoError(t, err)
		defer o.Close()
		b, err = io.ReadAll(o)
	} else {
		b, err = os.ReadFile(filepath.Join(x.dir(), name))
	}
	require.NoError(t, err, name)
	return b
}

// remove deletes a file of the table.
func (x target) remove(t testing.TB, name string) {
	t.Helper()
	if x.lake.s3 {
		require.NoError(t, x.lake.client.RemoveObject(t.Context(), bucket, x.dir()+"/"+name, minio.RemoveObjectOptions{}))
		return
	}
	require.NoError(t, os.Remove(filepath.Join(x.dir(), name)))
}

// lines splits a text; no lines for no text.
func lines(text string) []string {
	text = strings.TrimSuffix(text, "\n")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

func sorted(lines []string) []string {
	lines = append([]string(nil), lines...)
	sort.Strings(lines)
	return lines
}

// requireSameLines shows the first difference, not two tables.
func requireSameLines(t testing.TB, want, got []string, format string, args ...any) {
	t.Helper()
	for i := range min(len(want), len(got)) {
		if want[i] != got[i] {
			require.Fail(t, "lines differ", "%s\nline %d of %d and %d:\n want %s\n got  %s", fmt.Sprintf(format, args...), i+1, len(want), len(got), want[i], got[i])
		}
	}
	if len(want) != len(got) {
		longer := want
		if len(got) > len(want) {
			longer = got
		}
		require.Fail(t, "lines differ", "%s\n%d lines wanted, %d are there; the first more is\n %s", fmt.Sprintf(format, args...), len(want), len(got), longer[min(len(want), len(got))])
	}
}
