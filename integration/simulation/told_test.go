//go:build synctests

package simulation

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"

	"sink/connector"
	"sink/connector/upkeep"
	"sink/table"
	"sink/table/manifest"
	"sink/table/object"
)

// producers has a seed give some mappings a changelog that compactions make.
func producers(rnd *rand.Rand, tables []connector.Table) {
	for i := range tables {
		options := maps.Clone(tables[i].Options)
		switch rnd.IntN(5) {
		case 0:
			options["changelog-producer"] = table.ProducerLookup
		case 1:
			options["changelog-producer"] = table.ProducerFull
			options["full-compaction.delta-commits"] = fmt.Sprint(1 + rnd.IntN(3))
		default:
			continue
		}
		tables[i].Options = options
	}
}

// tells reports whether compactions make the changelog of the judged table.
func (j *judge) tells() bool { return j.schema != nil && j.schema.CompactionTells() }

// settle compacts a table whose changelog compactions make, so that all of it is told.
func (j *judge) settle() {
	if !j.open() || !j.tells() {
		return
	}
	keeper, err := upkeep.Open(context.Background(), upkeep.Config{Store: j.w.objects, Path: j.path})
	require.NoError(j.t, err)
	for more := true; more; {
		report, err := keeper.Compact(context.Background(), upkeep.Scope{Full: true})
		require.NoError(j.t, err)
		more = report.More
	}
}

// compacted holds a snapshot against the log, since no changelog tells what a checkpoint took in, and what compactions have told so far
// against the rows of the levels that they have told.
func (j *judge) compacted(store object.Store, s *manifest.Snapshot, live, changes []table.File) {
	if s.CommitKind == manifest.Append {
		require.Empty(j.t, changes, "%s: snapshot %d: a checkpoint tells nothing", j.path, s.ID)
		j.cover(s.ID)
		j.strange(store, s)
	}
	for i := range changes {
		j.tell(s.ID, &changes[i])
	}
	require.Equal(j.t, append([]string{}, slices.Sorted(maps.Values(j.covers))...), j.merge(live), "%s: snapshot %d: rows and what its map covers differ (I2)", j.path, s.ID)
	require.Equal(j.t, texts(j.fold), j.merge(j.toldOf(live)), "%s: snapshot %d: compacted rows and folded changelog differ (I1)", j.path, s.ID)
}

// cover applies the records that the map of a snapshot covers and the one before did not.
func (j *judge) cover(id int64) {
	for i := range j.w.source.log {
		s := &j.w.source.log[i]
		if !j.concerns(s) || !j.covered(id, s.tp, s.offset) {
			continue
		}
		for _, x := range j.expect(s) {
			if x.kind.Retracts() {
				delete(j.covers, x.key)
			} else {
				j.covers[x.key] = x.text
			}
		}
		if j.empties(s) {
			clear(j.covers)
		}
	}
}

// strange takes in the rows that a snapshot of the stranger's adds.
func (j *judge) strange(store object.Store, s *manifest.Snapshot) {
	if s.CommitUser == group {
		return
	}
	delta, err := manifest.ReadDelta(context.Background(), store, j.path, s, nil)
	require.NoError(j.t, err)
	for i := range delta {
		for _, r := range j.read(&delta[i].File) {
			name := j.cfg.Name + strings.TrimPrefix(r.text[:strings.Index(r.text, `,"val"`)], "{")
			require.True(j.t, j.w.theirs[name], "%s: snapshot %d: nobody has written %s", j.path, s.ID, r.text)
			delete(j.w.theirs, name)
			j.foreign = append(j.foreign, r)
			j.covers[r.key] = r.text
		}
	}
}

// tell folds a changelog file of a compaction: each change is one of the row that is there, with its image as it was told.
func (j *judge) tell(id int64, f *table.File) {
	rows := j.read(f)
	for i, r := range rows {
		where := fmt.Sprintf("%s: snapshot %d, %s%s", j.path, id, r.kind, r.text)
		before, there := j.fold[r.key]
		switch r.kind {
		case table.Insert:
			require.False(j.t, there, "%s: there is %s", where, before.text)
			j.fold[r.key] = r
		case table.UpdateAfter:
			require.True(j.t, i > 0 && rows[i-1].kind == table.UpdateBefore && rows[i-1].key == r.key, "%s: no -U (I3)", where)
			j.fold[r.key] = r
		default:
			require.Equal(j.t, r.text, before.text, "%s: another row is there", where)
			if r.kind == table.UpdateBefore {
				require.True(j.t, i+1 < len(rows) && rows[i+1].kind == table.UpdateAfter, "%s: no +U (I3)", where)
			}
			delete(j.fold, r.key)
		}
		j.w.met.add(j.schema.ChangelogProducer()+" changes", 1)
	}
}

// toldOf returns the files whose rows compactions have told: with lookup those above level 0, with full-compaction those of the highest.
func (j *judge) toldOf(live []table.File) []table.File {
	lowest := map[table.Bucket]int32{}
	for i := range live {
		b := live[i].Bucket
		if lowest[b] = max(lowest[b], 1); j.schema.ChangelogProducer() == table.ProducerFull {
			lowest[b] = max(lowest[b], live[i].Level)
		}
	}
	return slices.DeleteFunc(slices.Clone(live), func(f table.File) bool { return f.Level < lowest[f.Bucket] })
}
