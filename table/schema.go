package table

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Versions of schema-N (org.apache.paimon.schema.TableSchema): all up to schemaVersion are read, it is written.
const (
	schemaVersion       = 3
	schemaVersion07     = 1 // Paimon up to 0.7: the default bucket count was 1
	schemaVersion08     = 2 // up to 0.9: the default file format was ORC
	noFieldID           = -1
	defaultBucketCount1 = "1"
)

// VersionError tells of a file in a version that this program does not read.
type VersionError struct {
	What    string // "schema", "snapshot", "manifest", ...
	Version int
	Max     int // the highest version that is read
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("%s version %d is not readable, only up to %d: a newer Paimon wrote it, use a newer sink", e.What, e.Version, e.Max)
}

// Schema is one version of a table's schema: the file schema/schema-ID. A Schema that others can see is never changed;
// [Schema.Clone] makes a copy to change.
type Schema struct {
	ID             int64
	Fields         []Field
	HighestFieldID int // the highest id ever given to a field or to a member of a ROW; never decreases
	PartitionKeys  []string
	PrimaryKeys    []string // with the partition columns that are part of the key
	Options        map[string]string
	Comment        string
	TimeMillis     int64 // when it was written, milliseconds since the epoch

	// Unknown are members of the file that the sink does not know, kept for whoever does.
	Unknown map[string]json.RawMessage
}

// schemaJSON is a schema in the member order of Paimon's files.
type schemaJSON struct {
	Version        *int                       `json:"version"`
	ID             int64                      `json:"id"`
	Fields         *[]Field                   `json:"fields"`
	HighestFieldID *int                       `json:"highestFieldId"`
	PartitionKeys  *[]string                  `json:"partitionKeys"`
	PrimaryKeys    *[]string                  `json:"primaryKeys"`
	Options        map[string]json.RawMessage `json:"options"`
	Comment        *string                    `json:"comment,omitempty"`
	TimeMillis     int64                      `json:"timeMillis"`
}

// ParseSchema reads a schema file. Options that older versions left out, because their default has changed since, are
// put in. It returns a *VersionError for a version above 3, and refuses types that the sink does not write by name.
func ParseSchema(b []byte) (*Schema, error) {
	var version struct {
		Version *int `json:"version"`
	}
	if err := json.Unmarshal(b, &version); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	if version.Version != nil && *version.Version > schemaVersion {
		return nil, &VersionError{What: "schema", Version: *version.Version, Max: schemaVersion}
	}
	var j schemaJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	s, err := j.schema()
	if err != nil {
		return nil, fmt.Errorf("schema %d: %w", j.ID, err)
	}
	s.Unknown, err = unknownMembers(b, "version", "id", "fields", "highestFieldId", "partitionKeys", "primaryKeys",
		"options", "comment", "timeMillis")
	if err != nil {
		return nil, fmt.Errorf("schema %d: %w", j.ID, err)
	}
	return s, nil
}

func (j *schemaJSON) schema() (*Schema, error) {
	switch {
	case j.Fields == nil:
		return nil, errors.New("no fields")
	case j.HighestFieldID == nil:
		return nil, errors.New("no highestFieldId")
	case j.PartitionKeys == nil:
		return nil, errors.New("no partitionKeys")
	case j.PrimaryKeys == nil:
		return nil, errors.New("no primaryKeys")
	case j.Options == nil:
		return nil, errors.New("no options")
	case j.ID < 0:
		return nil, errors.New("the id is negative")
	}
	s := &Schema{
		ID: j.ID, Fields: *j.Fields, HighestFieldID: *j.HighestFieldID, PartitionKeys: *j.PartitionKeys,
		PrimaryKeys: *j.PrimaryKeys, Options: make(map[string]string, len(j.Options)), TimeMillis: j.TimeMillis,
	}
	if j.Comment != nil {
		s.Comment = *j.Comment
	}
	for k, raw := range j.Options {
		v, ok := optionString(raw)
		if !ok {
			return nil, fmt.Errorf("option %s is %s, which is no text", k, raw)
		}
		if v != nil {
			s.Options[k] = *v
		}
	}
	version := schemaVersion07
	if j.Version != nil {
		version = *j.Version
	}
	if _, ok := s.Options["bucket"]; !ok && version <= schemaVersion07 {
		s.Options["bucket"] = defaultBucketCount1
	}
	if _, ok := s.Options["file.format"]; !ok && version <= schemaVersion08 {
		s.Options["file.format"] = "orc"
	}
	return s, s.checkNames()
}

// optionString returns an option's value as text, nil for a JSON null. Numbers and booleans are taken as they are spelt.
func optionString(raw json.RawMessage) (*string, bool) {
	var s *string
	if err := json.Unmarshal(raw, &s); err == nil {
		return s, true
	}
	t := strings.TrimSpace(string(raw))
	return &t, t != "" && t[0] != '{' && t[0] != '['
}

// checkNames tells whether keys name columns and no column or id is there twice: what every use of a schema rests on.
func (s *Schema) checkNames() error {
	names := make(map[string]bool, len(s.Fields))
	ids := make(map[int]string, len(s.Fields))
	for _, f := range s.Fields {
		if names[f.Name] {
			return fmt.Errorf("two columns are named %s", f.Name)
		}
		names[f.Name] = true
		if other, ok := ids[f.ID]; ok {
			return fmt.Errorf("columns %s and %s have the same id %d", other, f.Name, f.ID)
		}
		ids[f.ID] = f.Name
	}
	for what, keys := range map[string][]string{"partition key": s.PartitionKeys, "primary key": s.PrimaryKeys} {
		seen := make(map[string]bool, len(keys))
		for _, k := range keys {
			if !names[k] {
				return fmt.Errorf("the %s names a column %s that is not there", what, k)
			}
			if seen[k] {
				return fmt.Errorf("the %s names %s twice", what, k)
			}
			seen[k] = true
		}
	}
	return nil
}

// Encode writes the schema file, version 3, indented as Paimon does. Members and option values that came from a file
// and are not known here are written back.
func (s *Schema) Encode() ([]byte, error) {
	if err := s.checkNames(); err != nil {
		return nil, fmt.Errorf("schema %d: %w", s.ID, err)
	}
	version, highest := schemaVersion, max(s.HighestFieldID, highestID(s.Fields))
	fields, partition, primary := nonNil(s.Fields), nonNil(s.PartitionKeys), nonNil(s.PrimaryKeys)
	j := schemaJSON{
		Version: &version, ID: s.ID, Fields: &fields, HighestFieldID: &highest, PartitionKeys: &partition,
		PrimaryKeys: &primary, Options: make(map[string]json.RawMessage, len(s.Options)), TimeMillis: s.TimeMillis,
	}
	if s.Comment != "" {
		j.Comment = &s.Comment
	}
	for k, v := range s.Options {
		text, err := encodeJSON(v)
		if err != nil {
			return nil, fmt.Errorf("schema %d: option %s: %w", s.ID, k, err)
		}
		j.Options[k] = text
	}
	b, err := encodeJSON(j)
	if err != nil {
		return nil, fmt.Errorf("schema %d: %w", s.ID, err)
	}
	if b, err = appendUnknown(b, s.Unknown); err != nil {
		return nil, fmt.Errorf("schema %d: %w", s.ID, err)
	}
	return indentJSON(b)
}

func nonNil[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// NewSchema returns the first schema of a new table, with id 0. Columns, and members of ROW types, get new ids from 0,
// whatever they had, as org.apache.paimon.schema.Schema.Builder gives them; columns of the primary key become NOT NULL. Validate it before use.
func NewSchema(fields []Field, primaryKeys, partitionKeys []string, options map[string]string) *Schema {
	s := &Schema{
		HighestFieldID: noFieldID, PartitionKeys: slices.Clone(partitionKeys), PrimaryKeys: slices.Clone(primaryKeys),
		Options: maps.Clone(options),
	}
	if s.Options == nil {
		s.Options = map[string]string{}
	}
	for _, f := range fields {
		if slices.Contains(primaryKeys, f.Name) {
			f.Type.NotNull = true
		}
		s.Fields = append(s.Fields, s.newField(f))
	}
	return s
}

// newField returns a copy of a column with new ids: first its own, then those of the ROW members in its type.
func (s *Schema) newField(f Field) Field {
	s.HighestFieldID++
	f.ID = s.HighestFieldID
	f.Type = f.Type.renumber(&s.HighestFieldID)
	return f
}

// renumber returns a copy of the type whose ROW members have new ids above *highest: a member's own comes after those
// inside its type (org.apache.paimon.types.ReassignFieldId).
func (t Type) renumber(highest *int) Type {
	if t.Key != nil {
		key := t.Key.renumber(highest)
		t.Key = &key
	}
	if t.Element != nil {
		element := t.Element.renumber(highest)
		t.Element = &element
	}
	if t.Fields != nil {
		t.Fields = slices.Clone(t.Fields)
		for i := range t.Fields {
			f := &t.Fields[i]
			f.Type = f.Type.renumber(highest)
			*highest++
			f.ID = *highest
		}
	}
	return t
}

// highestID returns the highest id among fields and the ROW members in their types, -1 if there is none.
func highestID(fields []Field) int {
	highest := noFieldID
	for _, f := range fields {
		highest = max(highest, f.ID, f.Type.highestID())
	}
	return highest
}

func (t Type) highestID() int {
	highest := highestID(t.Fields)
	if t.Key != nil {
		highest = max(highest, t.Key.highestID())
	}
	if t.Element != nil {
		highest = max(highest, t.Element.highestID())
	}
	return highest
}

// Clone returns a deep copy, except for the types' inner parts, which nobody changes in place.
func (s *Schema) Clone() *Schema {
	c := *s
	c.Fields = slices.Clone(s.Fields)
	c.PartitionKeys = slices.Clone(s.PartitionKeys)
	c.PrimaryKeys = slices.Clone(s.PrimaryKeys)
	c.Options = maps.Clone(s.Options)
	c.Unknown = maps.Clone(s.Unknown)
	return &c
}

// FieldIndex returns the position of the column of that name, -1 if there is none.
func (s *Schema) FieldIndex(name string) int {
	return slices.IndexFunc(s.Fields, func(f Field) bool { return f.Name == name })
}

// Names returns the names of the columns, in their order. The caller owns it.
func (s *Schema) Names() []string {
	names := make([]string, len(s.Fields))
	for i := range s.Fields {
		names[i] = s.Fields[i].Name
	}
	return names
}

// Indexes returns the positions of columns by name, -1 for each that is not there.
func (s *Schema) Indexes(names []string) []int {
	out := make([]int, len(names))
	for i, n := range names {
		out[i] = s.FieldIndex(n)
	}
	return out
}

// TypesOf returns the types of the columns at the given positions.
func (s *Schema) TypesOf(columns []int) []Type {
	out := make([]Type, len(columns))
	for i, c := range columns {
		out[i] = s.Fields[c].Type
	}
	return out
}

// TrimmedPrimaryKeys returns the primary key without the partition columns, in key order: what rows are sorted by in a
// bucket.
func (s *Schema) TrimmedPrimaryKeys() []string {
	var out []string
	for _, k := range s.PrimaryKeys {
		if !slices.Contains(s.PartitionKeys, k) {
			out = append(out, k)
		}
	}
	return out
}

// Append reports whether it is the schema of an append table: one without a primary key, which holds rows as they came
// (org.apache.paimon.table.AppendOnlyFileStoreTable).
func (s *Schema) Append() bool { return len(s.PrimaryKeys) == 0 }

// BucketKeys returns the columns that a row's bucket is computed from: option bucket-key, else the trimmed primary key.
func (s *Schema) BucketKeys() []string {
	if v := s.Option("bucket-key"); v != "" {
		return strings.Split(v, ",")
	}
	return s.TrimmedPrimaryKeys()
}

// CrossPartition reports whether the same key may turn up in several partitions: the primary key lacks a partition
// column.
func (s *Schema) CrossPartition() bool {
	return slices.ContainsFunc(s.PartitionKeys, func(k string) bool { return !slices.Contains(s.PrimaryKeys, k) })
}

// Errors of [Schema.Buckets] for tables whose buckets the sink cannot choose; they can be read.
var (
	ErrDynamicBucket = errors.New("option bucket is -1 (dynamic buckets, Paimon's default), which the sink does not write: " +
		"make the table with a fixed number, such as bucket=4")
	ErrPostponeBucket = errors.New("option bucket is -2 (postponed buckets), which the sink does not write: " +
		"make the table with a fixed number, such as bucket=4")
)

// Unaware is the bucket count, in option bucket and in manifest entries, of an append table that tells no buckets apart: all
// its files lie in bucket 0 (org.apache.paimon.table.BucketMode.BUCKET_UNAWARE).
const Unaware = -1

// Buckets returns option bucket: the number of buckets of a new partition, or [Unaware] for an append table with -1. For other
// tables it returns -1 and -2 with [ErrDynamicBucket] or [ErrPostponeBucket], for anything else that is not above 0 another error.
func (s *Schema) Buckets() (int, error) {
	n, err := s.OptionInt("bucket")
	switch {
	case err != nil:
		return 0, err
	case n == Unaware && s.Append():
		return Unaware, nil
	case n == -1:
		return -1, ErrDynamicBucket
	case n == -2 && !s.Append():
		return -2, ErrPostponeBucket
	case n <= 0 || n > maxBuckets:
		return 0, fmt.Errorf("option bucket is %d, but has to be 1 to %d", n, maxBuckets)
	}
	return int(n), nil
}

// maxBuckets is what a bucket number in an int32 allows, far above any use.
const maxBuckets = 1<<31 - 1
