package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sink/table"
	"sink/table/manifest"
	"sink/table/object"
)

// sections are what inspect can show, in the order in which it does.
var sections = []string{"table", "columns", "schemas", "snapshots", "offsets", "files", "tags", "consumers"}

// section is one part of what inspect prints.
type section struct {
	name    string
	columns []string
	rows    [][]any
}

func (s *section) add(values ...any) { s.rows = append(s.rows, values) }

// inspector looks into the files of one table.
type inspector struct {
	store  object.Store
	path   table.Path
	name   string
	schema *table.Schema
	limit  int64
	at     int64 // snapshot to list files of; 0: newest

	ids    []int64
	newest *manifest.Snapshot // or the one at; nil when there is none
}

func (a *app) inspectCommand() *cobra.Command {
	var (
		where  location
		format outputFormat
		show   []string
		in     inspector
	)
	cmd := a.command(&cobra.Command{
		Use:   "inspect TABLE",
		Short: "Show what a table is made of: schemas, snapshots with offsets, files",
		Long: `Show what a table is made of, without reading its rows: columns, schema versions, snapshots with the Kafka offsets that they
carry, live files by partition, bucket and level, tags and consumers.

TABLE is database.table. With -o json each line is an object whose "section" says what it is.`,
		Example: `  sink inspect shop.orders -c sink.yaml
  sink inspect shop.orders --warehouse file:///var/lake --show snapshots --limit 100
  sink inspect shop.orders --warehouse s3://lake/warehouse --s3-endpoint http://127.0.0.1:9000 --show files --snapshot 12 -o csv`,
		Args: oneTable,
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, name := range show {
				if !slices.Contains(sections, name) {
					return misusef("--show %s is none of %s", name, strings.Join(sections, ", "))
				}
			}
			if format == formatCSV && len(show) != 1 {
				return misusef("-o csv prints one section: choose it with --show, one of %s", strings.Join(sections, ", "))
			}
			var err error
			if in.store, in.path, err = where.openTable(cmd.Context(), args[0]); err != nil {
				return err
			}
			in.name = args[0]
			return a.inspect(cmd.Context(), &in, show, format)
		},
	})
	where.addTo(cmd)
	format.addTo(cmd)
	cmd.Flags().StringSliceVar(&show, "show", nil, "sections to show: "+strings.Join(sections, ", ")+" (default all)")
	in.limit = 20
	cmd.Flags().Var((*count)(&in.limit), "limit", "how many of the newest snapshots to show; 0: all")
	cmd.Flags().Var((*ordinal)(&in.at), "snapshot", "snapshot whose files and offsets to show (default the newest)")
	_ = cmd.RegisterFlagCompletionFunc("show", cobra.FixedCompletions(sections, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (a *app) inspect(ctx context.Context, in *inspector, show []string, format outputFormat) error {
	if err := in.load(ctx); err != nil {
		return err
	}
	parts := map[string]func(context.Context, *section) error{
		"table": in.table, "columns": in.columns, "schemas": in.schemas, "snapshots": in.snapshots,
		"offsets": in.offsets, "files": in.files, "tags": in.tags, "consumers": in.consumers,
	}
	first := true
	for _, name := range sections {
		if len(show) > 0 && !slices.Contains(show, name) {
			continue
		}
		s := &section{name: name}
		if err := parts[name](ctx, s); err != nil {
			return fmt.Errorf("table %s: %w", in.name, err)
		}
		if len(s.rows) == 0 && len(show) != 1 && format == formatTable {
			continue
		}
		if format == formatTable && len(show) != 1 {
			if err := printTitle(a.stdout, s.name, first); err != nil {
				return err
			}
			first = false
		}
		if err := s.print(a.stdout, format); err != nil {
			return err
		}
	}
	return nil
}

// printTitle prints a section's title, apart from the section before.
func printTitle(w io.Writer, title string, first bool) error {
	space := "\n"
	if first {
		space = ""
	}
	_, err := fmt.Fprintf(w, "%s== %s ==\n", space, title)
	return err
}

func (s *section) print(w io.Writer, format outputFormat) error {
	columns := s.columns
	if format == formatJSON {
		columns = append([]string{"section"}, columns...)
	}
	out := newPrinter(w, format, columns...)
	for _, row := range s.rows {
		if format == formatJSON {
			row = append([]any{s.name}, row...)
		}
		out.row(row...)
	}
	return out.close()
}

// load reads what several sections need.
func (in *inspector) load(ctx context.Context) (err error) {
	if in.schema, err = manifest.LatestSchema(ctx, in.store, in.path); err != nil {
		return fmt.Errorf("table %s: %w", in.name, err)
	}
	if in.ids, err = manifest.SnapshotIDs(ctx, in.store, in.path); err != nil {
		return fmt.Errorf("table %s: %w", in.name, err)
	}
	if in.at > 0 {
		in.newest, err = manifest.ReadStanding(ctx, in.store, in.path, in.at)
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("table %s: there is no snapshot %d%s", in.name, in.at, idsText(in.ids))
		}
	} else {
		in.newest, err = manifest.LatestSnapshot(ctx, in.store, in.path)
	}
	if err != nil {
		return fmt.Errorf("table %s: %w", in.name, err)
	}
	return nil
}

// idsText says which snapshots there are.
func idsText(ids []int64) string {
	if len(ids) == 0 {
		return ": it has none"
	}
	return fmt.Sprintf("; there are %d to %d", ids[0], ids[len(ids)-1])
}

func (in *inspector) table(_ context.Context, s *section) error {
	s.columns = []string{"property", "value"}
	s.add("name", in.name)
	s.add("path", string(in.path))
	s.add("schema", in.schema.ID)
	s.add("primary key", in.schema.PrimaryKeys)
	if len(in.schema.PartitionKeys) > 0 {
		s.add("partition keys", in.schema.PartitionKeys)
	}
	if in.schema.Comment != "" {
		s.add("comment", in.schema.Comment)
	}
	for _, key := range slices.Sorted(maps.Keys(in.schema.Options)) {
		s.add("option "+key, in.schema.Options[key])
	}
	if in.newest != nil {
		s.add("snapshot", in.newest.ID)
		s.add("records", in.newest.TotalRecords)
	}
	return nil
}

func (in *inspector) columns(_ context.Context, s *section) error {
	s.columns = []string{"id", "name", "type", "key", "default", "description"}
	for _, f := range in.schema.Fields {
		key := ""
		switch {
		case slices.Contains(in.schema.PartitionKeys, f.Name):
			key = "partition"
		case slices.Contains(in.schema.PrimaryKeys, f.Name):
			key = "primary"
		}
		var def any
		if f.Default != nil {
			def = *f.Default
		}
		s.add(f.ID, f.Name, typeText(f.Type), key, def, f.Description)
	}
	return nil
}

// typeText is a type for people: nested ones are JSON in schema files.
func typeText(t table.Type) string {
	null := ""
	if t.NotNull {
		null = " NOT NULL"
	}
	switch t.Root {
	case table.Array, table.Multiset:
		return t.Root.String() + "<" + typeText(*t.Element) + ">" + null
	case table.Map:
		return "MAP<" + typeText(*t.Key) + ", " + typeText(*t.Element) + ">" + null
	case table.RowType:
		members := make([]string, len(t.Fields))
		for i, f := range t.Fields {
			members[i] = f.Name + " " + typeText(f.Type)
		}
		return "ROW<" + strings.Join(members, ", ") + ">" + null
	}
	return t.String()
}

func (in *inspector) schemas(ctx context.Context, s *section) error {
	s.columns = []string{"schema", "time", "columns", "primaryKey", "partitionKeys"}
	ids, err := manifest.SchemaIDs(ctx, in.store, in.path)
	if err != nil {
		return err
	}
	for _, id := range ids {
		v, err := manifest.ReadSchema(ctx, in.store, in.path, id)
		if err != nil {
			return err
		}
		names := make([]string, len(v.Fields))
		for i, f := range v.Fields {
			names[i] = f.Name
		}
		s.add(v.ID, timeText(v.TimeMillis), names, v.PrimaryKeys, orEmpty(v.PartitionKeys))
	}
	return nil
}

func (in *inspector) snapshots(ctx context.Context, s *section) error {
	s.columns = []string{"snapshot", "kind", "time", "user", "identifier", "schema", "records", "added", "changelog", "offsets"}
	ids := in.ids
	if in.limit > 0 && int64(len(ids)) > in.limit {
		ids = ids[int64(len(ids))-in.limit:]
	}
	for _, id := range slices.Backward(ids) {
		v, err := manifest.ReadSnapshot(ctx, in.store, in.path, id)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it has expired since the listing
		}
		if err != nil {
			return err
		}
		progress, _, err := table.ParseProgress(v.Properties)
		if err != nil {
			return fmt.Errorf("snapshot %d: %w", id, err)
		}
		s.add(v.ID, v.CommitKind, timeText(v.TimeMillis), v.CommitUser, v.CommitIdentifier, v.SchemaID, v.TotalRecords, v.DeltaRecords,
			v.ChangelogRecords, offsetTexts(progress.Offsets))
	}
	return nil
}

// sortedOffsets returns the partitions of a map in order.
func sortedOffsets(offsets table.Offsets) []table.TopicPartition {
	return slices.SortedFunc(maps.Keys(offsets), func(a, b table.TopicPartition) int {
		return cmp.Or(strings.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
}

func offsetTexts(offsets table.Offsets) []string {
	out := []string{}
	for _, tp := range sortedOffsets(offsets) {
		out = append(out, fmt.Sprintf("%s/%d=%d", tp.Topic, tp.Partition, offsets[tp].Offset))
	}
	return out
}

// offsets shows the newest map: that of the snapshot, or of the newest before it that has one.
func (in *inspector) offsets(ctx context.Context, s *section) error {
	s.columns = []string{"snapshot", "topic", "partition", "offset", "epoch", "topicId"}
	if in.newest == nil {
		return nil
	}
	for _, id := range slices.Backward(in.ids) {
		if id > in.newest.ID {
			continue
		}
		v, err := manifest.ReadSnapshot(ctx, in.store, in.path, id)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		progress, ours, err := table.ParseProgress(v.Properties)
		if err != nil {
			return fmt.Errorf("snapshot %d: %w", id, err)
		}
		if !ours {
			continue
		}
		for _, tp := range sortedOffsets(progress.Offsets) {
			c := progress.Offsets[tp]
			s.add(id, tp.Topic, tp.Partition, c.Offset, c.Epoch, c.TopicID)
		}
		return nil
	}
	return nil
}

// fileGroup sums the files of one level of one bucket.
type fileGroup struct {
	partition []byte // canonical JSON
	bucket    table.Bucket
	level     int32

	files, rows, deleteRows, sizeBytes int64
	minSeq, maxSeq                     int64
}

func (in *inspector) files(ctx context.Context, s *section) error {
	s.columns = []string{"partition", "bucket", "level", "files", "rows", "deleteRows", "bytes", "minSequence", "maxSequence"}
	if in.newest == nil {
		return nil
	}
	files, err := manifest.ReadLive(ctx, in.store, in.path, in.newest, nil)
	if err != nil {
		return err
	}
	type groupKey struct {
		table.Bucket
		level int32
	}
	groups := map[groupKey]*fileGroup{}
	partitions := newPartitions(in.schema)
	for i := range files {
		f := &files[i]
		key := groupKey{f.Bucket, f.Level}
		g := groups[key]
		if g == nil {
			partition, err := partitions.json(f.Bucket.Partition)
			if err != nil {
				return err
			}
			g = &fileGroup{partition: partition, bucket: f.Bucket, level: f.Level, minSeq: f.MinSeq, maxSeq: f.MaxSeq}
			groups[key] = g
		}
		g.files++
		g.rows += f.Rows
		g.deleteRows += max(f.DeleteRows, 0)
		g.sizeBytes += f.SizeBytes
		g.minSeq, g.maxSeq = min(g.minSeq, f.MinSeq), max(g.maxSeq, f.MaxSeq)
	}
	for _, g := range slices.SortedFunc(maps.Values(groups), func(a, b *fileGroup) int {
		return cmp.Or(bytes.Compare(a.partition, b.partition), cmp.Compare(a.bucket.Number, b.bucket.Number), cmp.Compare(a.level, b.level))
	}) {
		s.add(json.RawMessage(g.partition), g.bucket.Number, g.level, g.files, g.rows, g.deleteRows, g.sizeBytes, g.minSeq, g.maxSeq)
	}
	return nil
}

func (in *inspector) tags(ctx context.Context, s *section) error {
	s.columns = []string{"tag", "snapshot", "created", "retained"}
	names, err := manifest.TagNames(ctx, in.store, in.path)
	if err != nil {
		return err
	}
	for _, name := range names {
		t, err := manifest.ReadTag(ctx, in.store, in.path, name)
		if err != nil {
			return err
		}
		var created, retained any
		if !t.Created.IsZero() {
			created = t.Created.UTC().Format(time.RFC3339)
		}
		if t.Retained > 0 {
			retained = t.Retained.String()
		}
		s.add(t.Name, t.Snapshot.ID, created, retained)
	}
	return nil
}

func (in *inspector) consumers(ctx context.Context, s *section) error {
	s.columns = []string{"consumer", "nextSnapshot", "modified"}
	consumers, err := manifest.Consumers(ctx, in.store, in.path)
	if err != nil {
		return err
	}
	for _, c := range consumers {
		s.add(c.ID, c.NextSnapshot, c.Modified.UTC().Format(time.RFC3339))
	}
	return nil
}

func timeText(millis int64) string {
	return time.UnixMilli(millis).UTC().Format("2006-01-02T15:04:05.000Z")
}

func orEmpty(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

// partitions prints partitions, which are binary rows, as canonical JSON objects.
type partitions struct {
	fields []table.Field
	types  []table.Type
	texts  map[string][]byte
}

func newPartitions(s *table.Schema) *partitions {
	p := &partitions{texts: map[string][]byte{}}
	for _, i := range s.Indexes(s.PartitionKeys) {
		p.fields = append(p.fields, s.Fields[i])
		p.types = append(p.types, s.Fields[i].Type)
	}
	return p
}

// json returns the partition's values by name: "{}" for a table without partitions. The bytes are shared.
func (p *partitions) json(partition string) ([]byte, error) {
	if text, ok := p.texts[partition]; ok {
		return text, nil
	}
	row, err := table.DecodeRow([]byte(partition), p.types)
	if err != nil {
		return nil, fmt.Errorf("partition: %w", err)
	}
	text := table.AppendCanonicalRow(nil, p.fields, row, 0)
	p.texts[partition] = text
	return text, nil
}
