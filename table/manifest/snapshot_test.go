package manifest

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sink/table"
)

const minimalSnapshot = `{"version":3,"id":1,"schemaId":0,"baseManifestList":"b","deltaManifestList":"d","commitUser":"u","commitIdentifier":9223372036854775807,"commitKind":"APPEND"}`

func TestParseSnapshot(t *testing.T) {
	s, err := ParseSnapshot([]byte(minimalSnapshot))
	require.NoError(t, err)
	require.Equal(t, &Snapshot{ID: 1, BaseList: "b", DeltaList: "d", CommitUser: "u", CommitIdentifier: math.MaxInt64, CommitKind: Append}, s)

	s, err = ParseSnapshot([]byte(`{"watermark":-9223372036854775808,"nextRowId":0,"properties":{"a<b":"c"},"uuid":"x","future":{"x":[1, 2]},
		"changelogManifestList":null,"statistics":null,"indexManifest":"i",` + minimalSnapshot[1:]))
	require.NoError(t, err)
	require.EqualValues(t, math.MinInt64, *s.Watermark)
	require.Zero(t, *s.NextRowID)
	encoded, err := s.Encode()
	require.NoError(t, err)
	require.Equal(t, `{
  "version": 3,
  "uuid": "x",
  "id": 1,
  "schemaId": 0,
  "baseManifestList": "b",
  "deltaManifestList": "d",
  "indexManifest": "i",
  "commitUser": "u",
  "commitIdentifier": 9223372036854775807,
  "commitKind": "APPEND",
  "timeMillis": 0,
  "totalRecordCount": 0,
  "deltaRecordCount": 0,
  "changelogRecordCount": 0,
  "watermark": -9223372036854775808,
  "properties": {
    "a<b": "c"
  },
  "nextRowId": 0,
  "future": {
    "x": [
      1,
      2
    ]
  }
}`, string(encoded))
}

func TestParseSnapshotRefused(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{`{"version"`, `["version"`, "snapshot: invalid character"},
		{`"id":1,`, ``, "snapshot: no id"},
		{`"id":1`, `"id":null`, "snapshot: no id"},
		{`"id":1`, `"id":"1"`, "snapshot: id: json: cannot unmarshal string"},
		{`"id":1`, `"id":1.5`, "snapshot: id: json: cannot unmarshal number 1.5"},
		{`"id":1`, `"id":0`, "snapshot: id 0, want 1 or more"},
		{`"id":1`, `"ID":1`, "snapshot: no id"},
		{`"schemaId":0`, `"schemaId":-1`, "snapshot 1: schemaId is -1"},
		{`"b"`, `""`, "snapshot 1: an empty name of a manifest list"},
		{`"d"`, `"../d"`, `snapshot 1: "../d" is not a bare file name`},
		{`APPEND`, `append`, `snapshot 1: commitKind "append" is not known`},
		{`"u"`, `{}`, "snapshot: commitUser: json: cannot unmarshal object"},
	} {
		require.Contains(t, minimalSnapshot, c.from)
		_, err := ParseSnapshot([]byte(strings.Replace(minimalSnapshot, c.from, c.to, 1)))
		require.ErrorContains(t, err, c.want)
	}
	_, err := ParseSnapshot([]byte(`{"version":4}`))
	var v *table.VersionError
	require.ErrorAs(t, err, &v)
	require.Equal(t, table.VersionError{What: "snapshot", Version: 4, Max: 3}, *v)

	s := &Snapshot{ID: 1, BaseList: "b", DeltaList: "d", CommitKind: "X"}
	_, err = s.Encode()
	require.EqualError(t, err, `snapshot 1: commitKind "X" is not known`)
	s.CommitKind = Append
	s.Unknown = map[string]json.RawMessage{"x": json.RawMessage("{")}
	_, err = s.Encode()
	require.EqualError(t, err, "member x is not JSON")
}
