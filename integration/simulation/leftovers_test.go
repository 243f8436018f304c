//go:build synctests

package simulation

import (
	"context"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"sink/commit/expire"
	"sink/table/manifest"
)

// leftovers looks for files that no snapshot names. A run without faults leaves none; after any other they go without harm:
// what is left is what the snapshots name, and all of that is still there.
func (j *judge) leftovers(calm bool) {
	if len(j.offsets) == 0 {
		return
	}
	ctx := context.Background()
	named := j.named(!calm)
	if !calm {
		e, err := expire.New(expire.Config{Store: j.w.objects, Path: j.path, Schema: j.schema})
		require.NoError(j.t, err)
		found, err := e.Orphans(ctx, time.Now().Add(time.Hour))
		require.NoError(j.t, err)
		require.NoError(j.t, e.DeleteOrphans(ctx, found))
	}
	for info, err := range j.w.objects.List(ctx, string(j.path)+"/") {
		require.NoError(j.t, err)
		if strings.Contains(info.Name, "/manifest/") || strings.Contains(info.Name, "/bucket-") {
			name := info.Name[strings.LastIndexByte(info.Name, '/')+1:]
			_, there := named[name]
			require.True(j.t, there, "%s is named by no snapshot", info.Name)
			delete(named, name)
		}
	}
	for name, live := range named {
		require.False(j.t, live, "%s: a snapshot names %s, which is gone", j.path, name)
	}
}

// named returns the files that the snapshots name: true for those that must be there, false for those that manifests tell of as removed,
// where these count.
func (j *judge) named(removed bool) map[string]bool {
	ctx := context.Background()
	named := map[string]bool{}
	ids, err := manifest.SnapshotIDs(ctx, j.w.objects, j.path)
	require.NoError(j.t, err)
	for _, id := range ids {
		s, err := manifest.ReadSnapshot(ctx, j.w.objects, j.path, id)
		require.NoError(j.t, err)
		for _, list := range []string{s.BaseList, s.DeltaList, s.ChangelogList} {
			if list == "" {
				continue
			}
			named[list] = true
			entries, err := manifest.ReadList(ctx, j.w.objects, j.path, list)
			require.NoError(j.t, err)
			for _, e := range entries {
				named[e.Name] = true
				if removed {
					j.mentioned(named, e.Name)
				}
			}
		}
		live, err := manifest.ReadLive(ctx, j.w.objects, j.path, s, nil)
		require.NoError(j.t, err)
		changes, err := manifest.ReadChangelog(ctx, j.w.objects, j.path, s, nil)
		require.NoError(j.t, err)
		for _, f := range append(live, changes...) {
			named[f.Name] = true
		}
	}
	return named
}

func (j *judge) mentioned(named map[string]bool, list string) {
	entries, err := manifest.ReadManifest(context.Background(), j.w.objects, j.path, list)
	require.NoError(j.t, err)
	for i := range entries {
		if name := entries[i].File.Name; !named[name] {
			named[name] = false
		}
	}
}
