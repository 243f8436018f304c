//go:build integration

package integration

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestAutoTags: the sink makes the tags that the real Paimon makes of the same options, goes on from Paimon's, and Paimon reads them.
func TestAutoTags(t *testing.T) {
	t.Parallel()
	l := newLake(t, disk)
	create := `{"op":"create","columns":[{"name":"id","type":"BIGINT NOT NULL"}],"primaryKeys":["id"],"partitionKeys":[],` +
		`"options":{"bucket":"1","changelog-producer":"input","tag.automatic-creation":"process-time","tag.creation-period":"hourly",` +
		`"tag.default-time-retained":"1 d","write-only":"WRITEONLY"}}` + "\n" + `{"kind":"+I","row":{"id":1}}` + "\n" + `{"op":"commit"}` + "\n"
	name := func(x target) string { // of the hour before the first snapshot
		var s struct{ TimeMillis int64 }
		require.NoError(t, json.Unmarshal(x.get(t, "snapshot/snapshot-1"), &s))
		return time.UnixMilli(s.TimeMillis).UTC().Truncate(time.Hour).Add(-time.Hour).Format("2006-01-02 15")
	}
	tags := func(x target) (names []string) {
		for _, file := range x.list(t, "tag/tag-") {
			names = append(names, strings.TrimPrefix(file, "tag/tag-"))
		}
		return names
	}
	paimon, ours := l.table("auto.paimon"), l.table("auto.ours")
	for _, x := range []target{paimon, ours} {
		script := strings.ReplaceAll(create, "WRITEONLY", map[bool]string{true: "true", false: "false"}[x == ours])
		shared.java.must(t, x.java("write", "--input", writeFile(t, "script.jsonl", script))...)
	}
	require.Equal(t, []string{name(paimon)}, tags(paimon), "the real Paimon's")
	require.Empty(t, tags(ours))
	for _, x := range []target{paimon, ours} {
		sink(t, x.cli("expire")...)
		require.Equal(t, []string{name(x)}, tags(x))
		require.Equal(t, []string{`{"id":1}`}, lines(shared.java.must(t, x.java("rows", "--tag", name(x))...)))
		x.fsck(t)
	}
	var theirs, mine map[string]any
	require.NoError(t, json.Unmarshal(paimon.get(t, "tag/tag-"+name(paimon)), &theirs))
	require.NoError(t, json.Unmarshal(ours.get(t, "tag/tag-"+name(ours)), &mine))
	require.Equal(t, theirs["tagTimeRetained"], mine["tagTimeRetained"])
	require.Contains(t, mine, "tagCreateTime")
}
