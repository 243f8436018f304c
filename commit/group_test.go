package commit

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sink/table"
	"sink/table/manifest"
)

// TestReadBefore: a group that is new to a table knows which others have read the same records, by their newest map, and nobody but groups
// of the sink counts.
func TestReadBefore(t *testing.T) {
	w := newWorld(t).create(nil)
	before := func(user string, p int32, from table.Cursor) []string {
		s, err := w.openAs(w.store, user).Resume(t.Context())
		require.NoError(t, err)
		return s.ReadBefore(table.Offsets{part(p): from})
	}
	start := table.Cursor{Epoch: -1, TopicID: "ab"}
	require.Empty(t, before("new", 0, start), "an empty table")
	w.foreign(manifest.Append, []table.File{w.file("data-java-0.parquet", 0, 1, 5, 500, 600)}, nil)
	require.Empty(t, before("new", 0, start), "another program's rows are nobody's records")

	a := w.open(w.store)
	w.commit(a, 0, 10)
	w.commit(a, 0, 10)
	w.foreign(manifest.Append, []table.File{w.file("data-java-1.parquet", 0, 1, 5, 700, 800)}, nil)
	require.Equal(t, []string{group}, before("new", 0, start))
	require.Equal(t, []string{group}, before("new", 0, table.Cursor{Offset: 19, TopicID: "ab"}))
	require.Empty(t, before("new", 0, table.Cursor{Offset: 20, TopicID: "ab"}), "it goes on where the other ended")
	require.Empty(t, before("new", 1, start), "a partition that the other has not read")
	require.Empty(t, before("new", 0, table.Cursor{TopicID: "cd"}), "another topic of the same name")
	require.Equal(t, []string{group}, before("new", 0, table.Cursor{}), "brokers without topic ids")
	require.Empty(t, before(group, 0, start), "the group itself")

	w.commit(w.openAs(w.store, "first"), 0, 5)
	require.Equal(t, []string{"first", group}, before("new", 0, start))
	require.Empty(t, before("first", 0, start), "what it has begun it goes on with")
	w.expire(3)
	_, err := w.openAs(w.store, "new").Resume(t.Context())
	require.ErrorContains(t, err, "are other writers', of kafka.group first, "+group)
}
