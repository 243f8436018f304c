//go:build synctests

package simulation

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/stretchr/testify/require"

	"sink/commit"
	"sink/connector"
	"sink/connector/upkeep"
	"sink/flush"
	"sink/table"
	"sink/table/manifest"
)

// stranger is another program that writes the tables: it appends rows of its own, alters them, compacts and expires.
const stranger = "stranger"

// foreign has the stranger do something to a table, if there is one.
func (w *world) foreign() {
	ctx := context.Background()
	t := &w.targets[w.rnd.IntN(len(w.targets))]
	path := pathOf(t.Name)
	schema, err := manifest.LatestSchema(ctx, w.objects, path)
	if err != nil {
		return // not made yet
	}
	roll := w.rnd.IntN(4)
	if roll == 0 && t.OnTruncate == connector.Apply && schema.CompactionTells() {
		return // no changelog would say whether a truncation took the rows
	}
	if roll == 0 {
		w.append(t.Name, path, schema)
		return
	}
	if roll == 3 {
		w.alter(t.Name, path, schema)
		return
	}
	keeper, err := upkeep.Open(ctx, upkeep.Config{Store: w.objects, Path: path})
	require.NoError(w.t, err)
	if roll == 1 {
		report, err := keeper.Compact(ctx, upkeep.Scope{})
		w.met.add("foreign compactions", 1)
		w.say("the stranger compacts %s: %+v, %v", t.Name, report, err)
		return
	}
	own, err := commit.Open(ctx, commit.Config{Store: w.objects, Path: path, User: group})
	require.NoError(w.t, err)
	if state, err := own.Resume(ctx); err != nil || state.Fresh { // whoever cuts the history of a table that the group has not written asks the user
		return
	}
	report, err := keeper.Expire(ctx)
	w.met.add("foreign expiries", 1)
	w.say("the stranger expires %s: %+v, %v", t.Name, report, err)
}

// append commits a few rows that no record tells of.
func (w *world) append(name string, path table.Path, schema *table.Schema) {
	ctx := context.Background()
	committer, err := commit.Open(ctx, commit.Config{Store: w.objects, Path: path, User: stranger})
	require.NoError(w.t, err)
	state, err := committer.Resume(ctx)
	if err != nil {
		w.say("the stranger cannot append to %s: %v", name, err)
		return
	}
	writer, err := flush.New(flush.Config{Schema: schema, Store: w.objects, Path: path})
	require.NoError(w.t, err)
	writer.Raise(state.MaxSequence)
	var texts []string
	for range 1 + w.rnd.IntN(3) {
		w.strange++
		b := writer.Batch()
		for i := range schema.Fields {
			switch v := &b.Columns[i]; schema.Fields[i].Name {
			case "id":
				v.AppendWord(9000 + w.strange)
			case "region":
				v.AppendBytes([]byte("eu"))
			default:
				v.AppendNull()
			}
		}
		b.Kinds = append(b.Kinds, table.Insert)
		require.NoError(w.t, writer.Add())
		texts = append(texts, fmt.Sprintf(`"id":%d,"region":"eu"`, 9000+w.strange))
	}
	delta, err := writer.Seal().Flush(ctx)
	require.NoError(w.t, err)
	result, err := committer.Commit(ctx, delta)
	w.say("the stranger appends to %s: %v, %v", name, result, err)
	if err == nil {
		w.met.add("foreign rows", len(texts))
		for _, text := range texts {
			w.theirs[name+text] = true
		}
	}
}

// alter adds the column that the source will have, widens one, or sets an option.
func (w *world) alter(name string, path table.Path, schema *table.Schema) {
	ctx := context.Background()
	committer, err := commit.Open(ctx, commit.Config{Store: w.objects, Path: path, User: stranger})
	require.NoError(w.t, err)
	fields := slices.Clone(schema.Fields)
	switch w.rnd.IntN(4) {
	case 0:
		fields = append(fields, table.Field{Name: "extra", Type: table.Type{Root: table.VarChar, Length: table.MaxLength}})
	case 1:
		fields[schema.FieldIndex("_p")].Type.Root = table.BigInt
	case 2:
		schema, err = committer.SetOption(ctx, "num-sorted-run.compaction-trigger", strconv.Itoa(2+w.rnd.IntN(5))) // num-levels follows it
		require.NoError(w.t, err)
		w.say("the stranger sets an option of %s: schema %d", name, schema.ID)
		return
	case 3:
		schema, err = committer.SetOption(ctx, "snapshot.num-retained.max", strconv.Itoa(5+w.rnd.IntN(50)))
		w.say("the stranger sets the retention of %s: %v", name, err)
		return
	}
	if schema.FieldIndex("extra") >= 0 && len(fields) > len(schema.Fields) {
		return
	}
	schema, changes, err := committer.Evolve(ctx, fields)
	require.NoError(w.t, err)
	w.met.add("foreign schema changes", len(changes))
	w.say("the stranger alters %s: %v, schema %d", name, changes, schema.ID)
}
