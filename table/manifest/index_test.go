package manifest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sink/table"
)

// TestIndexObject: where the option says so, an index file is beside the data files of its bucket.
func TestIndexObject(t *testing.T) {
	text := table.Type{Root: table.VarChar, Length: table.MaxLength, NotNull: true}
	day := table.NewBatch([]table.Field{{Name: "dt", Type: text}})
	day.Columns[0].AppendBytes([]byte("a=b"))
	e := IndexEntry{
		Bucket: table.Bucket{Partition: string(table.EncodeRow(nil, []table.Type{text}, []*table.Vector{&day.Columns[0]}, 0)), Number: 3}, Name: "index-1",
	}
	for value, want := range map[string]string{
		"": "d.db/t/index/index-1", "false": "d.db/t/index/index-1", "true": "d.db/t/dt=a%3Db/bucket-3/index-1",
	} {
		options := map[string]string{"bucket": "-1"}
		if value != "" {
			options["index-file-in-data-file-dir"] = value
		}
		s := table.NewSchema([]table.Field{{Name: "dt", Type: text}}, []string{"dt"}, []string{"dt"}, options)
		got, err := e.Object("d.db/t", s)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	s := table.NewSchema([]table.Field{{Name: "dt", Type: text}}, []string{"dt"}, []string{"dt"}, map[string]string{"index-file-in-data-file-dir": "maybe"})
	_, err := e.Object("d.db/t", s)
	require.ErrorContains(t, err, "index-file-in-data-file-dir")
}
