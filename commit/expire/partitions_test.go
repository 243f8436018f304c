package expire

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sink/commit"
	"sink/table"
	"sink/table/manifest"
)

// partitioned makes a table with partitions of a text, a day and a number, one file each.
func partitioned(t *testing.T, options map[string]string, days ...string) *world {
	w := newWorld(t, nil)
	text := table.Type{Root: table.VarChar, Length: table.MaxLength, NotNull: true}
	all := map[string]string{"bucket": "1"}
	maps.Copy(all, options)
	w.path = table.NewPath("db", "p")
	w.s = table.NewSchema([]table.Field{
		{Name: "dt", Type: text}, {Name: "hour", Type: table.Type{Root: table.Int, NotNull: true}}, {Name: "id", Type: table.Type{Root: table.BigInt, NotNull: true}},
	}, []string{"dt", "hour", "id"}, []string{"dt", "hour"}, all)
	_, _, err := commit.CreateTable(t.Context(), w.config(), w.s)
	require.NoError(t, err)
	c := w.committer()
	for _, day := range days {
		var dt string
		var hour int64
		_, err := fmt.Sscanf(day, "%s %d", &dt, &hour)
		require.NoError(t, err)
		name := table.Vector{Layout: table.Bytes}
		name.AppendBytes([]byte(dt))
		row := table.EncodeRow(nil, w.s.TypesOf([]int{0, 1}), []*table.Vector{&name, {Layout: table.Words, Words: []int64{hour}}}, 0)
		f := w.file("data-", 0)
		f.Bucket.Partition = string(row)
		_, err = c.Commit(t.Context(), table.Delta{Added: []table.File{f}})
		require.NoError(t, err)
		w.pass(time.Hour)
	}
	return w
}

func (w *world) partitions() []string {
	newest, err := manifest.LatestSnapshot(w.t.Context(), w.store, w.path)
	require.NoError(w.t, err)
	live, err := manifest.ReadLive(w.t.Context(), w.store, w.path, newest, nil)
	require.NoError(w.t, err)
	var names []string
	for i := range live {
		name, err := table.PartitionPath(w.s, live[i].Bucket.Partition)
		require.NoError(w.t, err)
		names = append(names, name)
	}
	return names
}

// TestPartitions: the time is 2023-11-14 22:13 at first, and 6 hours later at the end.
func TestPartitions(t *testing.T) {
	days := []string{"2023-11-14 20", "2023-11-14 2", "2023-11-13 3", "2023-11-1 7", "soon 1", "20231101 5"}
	for _, c := range []struct {
		name    string
		options map[string]string
		due     []string
		unclear int
	}{
		{"not at all", nil, nil, 0},
		{"by the first column", map[string]string{"partition.expiration-time": "7 d"}, []string{"dt=2023-11-1/hour=7/"}, 2},
		{"by a pattern", map[string]string{"partition.expiration-time": "1 d", "partition.timestamp-pattern": "$dt $hour:00:00"},
			[]string{"dt=2023-11-1/hour=7/", "dt=2023-11-13/hour=3/", "dt=2023-11-14/hour=2/"}, 2},
		{"by a formatter", map[string]string{"partition.expiration-time": "1 d", "partition.timestamp-formatter": "yyyyMMdd"},
			[]string{"dt=20231101/hour=5/"}, 5},
		{"a few at once", map[string]string{"partition.expiration-time": "1 h", "partition.expiration-max-num": "2"},
			[]string{"dt=2023-11-1/hour=7/", "dt=2023-11-13/hour=3/"}, 2},
		{"by when they were written", map[string]string{"partition.expiration-time": "150 min", "partition.expiration-strategy": "update-time"},
			[]string{"dt=2023-11-1/hour=7/", "dt=2023-11-13/hour=3/", "dt=2023-11-14/hour=2/", "dt=2023-11-14/hour=20/"}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := partitioned(t, c.options, days...)
			policy, err := PartitionPolicyOf(w.s)
			require.NoError(t, err)
			due, unclear, err := w.expirer(w.store).ExpiredPartitions(t.Context(), policy)
			require.NoError(t, err)
			var names []string
			for _, p := range due {
				names = append(names, p.Path)
			}
			require.Equal(t, c.due, names)
			require.Len(t, unclear, c.unclear, "%q", unclear)
			if len(due) == 0 {
				return
			}
			before := w.partitions()
			r, err := w.expirer(w.store).DropPartitions(t.Context(), w.committer(), due)
			require.NoError(t, err)
			require.Equal(t, manifest.Overwrite, r.Kind)
			require.Len(t, w.partitions(), len(before)-len(due))
			_, err = w.expirer(w.store).DropPartitions(t.Context(), w.committer(), due)
			require.ErrorIs(t, err, commit.ErrConflict)
		})
	}
}

func TestPartitionPolicy(t *testing.T) {
	of := func(options map[string]string) error {
		_, err := PartitionPolicyOf(table.NewSchema([]table.Field{{Name: "id", Type: table.Type{Root: table.Int}}}, []string{"id"}, nil, options))
		return err
	}
	require.ErrorContains(t, of(map[string]string{"partition.expiration-time": "1 d"}), "has no partitions")
	require.ErrorContains(t, of(map[string]string{"partition.expiration-time": "soon"}), "partition.expiration-time")
	require.ErrorContains(t, of(map[string]string{"partition.expiration-strategy": "best"}), "values-time or update-time")
	require.ErrorContains(t, of(map[string]string{"partition.expiration-max-num": "none"}), "partition.expiration-max-num")
	require.ErrorContains(t, of(map[string]string{"partition.timestamp-formatter": "yyyy-QQ"}), `"QQ"`)
	for pattern, want := range map[string]string{
		"yyyy-MM-dd HH:mm:ss": "2006-01-02 15:04:05", "yyyyMMdd'T'HH": "20060102T15", "d.M.yyyy": "2.1.2006", "HH''mm": "15'04",
	} {
		got, err := goLayout(pattern)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}
