package table

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Names that Paimon keeps for itself (org.apache.paimon.table.SpecialFields).
const (
	SequenceNumberColumn = "_SEQUENCE_NUMBER"
	ValueKindColumn      = "_VALUE_KIND"
	KeyColumnPrefix      = "_KEY_"
)

var reservedNames = []string{SequenceNumberColumn, ValueKindColumn, "_LEVEL", "rowkind", "_ROW_ID"}

// Validate tells whether the sink can write a table of this schema: Paimon's own rules
// (org.apache.paimon.schema.SchemaValidation) and what the sink does not do. It returns all problems at once, joined; each
// names the column or option and what to do. A schema that is only read need not pass.
func (s *Schema) Validate() error {
	if err := s.checkNames(); err != nil {
		return err
	}
	var problems []error
	problems = append(problems, s.checkColumns()...)
	problems = append(problems, s.checkKeys()...)
	problems = append(problems, s.checkBuckets()...)
	problems = append(problems, s.checkAppend()...)
	problems = append(problems, s.checkSequence()...)
	problems = append(problems, s.checkMerge()...)
	problems = append(problems, s.checkProducer()...)
	problems = append(problems, s.checkOptions()...)
	problems = append(problems, s.checkStats()...)
	problems = append(problems, s.checkRetention()...)
	return errors.Join(problems...)
}

func (s *Schema) checkColumns() (problems []error) {
	if len(s.Fields) == 0 {
		return []error{errors.New("the table has no columns")}
	}
	for _, f := range s.Fields {
		switch {
		case f.Name == "":
			problems = append(problems, fmt.Errorf("column %d has no name", f.ID))
		case slices.Contains(reservedNames, f.Name):
			problems = append(problems, fmt.Errorf("column %s has a name that Paimon keeps for itself: rename it", f.Name))
		case strings.HasPrefix(f.Name, KeyColumnPrefix):
			problems = append(problems, fmt.Errorf("column %s begins with %s, which Paimon keeps for itself: rename it", f.Name, KeyColumnPrefix))
		}
		if err := f.Type.check(); err != nil {
			problems = append(problems, fmt.Errorf("column %s: %w", f.Name, err))
		}
	}
	return problems
}

func (s *Schema) checkKeys() (problems []error) {
	for _, k := range s.PrimaryKeys {
		f := s.Fields[s.FieldIndex(k)]
		switch {
		case f.Type.Nested():
			problems = append(problems, fmt.Errorf("primary key column %s is of type %s, which is no type of a key: take another column", k, f.Type.Root))
		case !f.Type.NotNull:
			problems = append(problems, fmt.Errorf("primary key column %s may be null: declare it NOT NULL", k))
		}
	}
	for _, k := range s.PartitionKeys {
		t := s.Fields[s.FieldIndex(k)].Type
		switch {
		case t.Nested():
			problems = append(problems, fmt.Errorf("partition column %s is of type %s, which is no type of a partition: take another column", k, t.Root))
		case (t.Root == Binary || t.Root == VarBinary) && !strings.EqualFold(s.Option("partition.legacy-name"), "false"):
			problems = append(problems, fmt.Errorf("partition column %s is of type %s, which has no path: set partition.legacy-name to false", k, t))
		}
		if !s.Append() && !slices.Contains(s.PrimaryKeys, k) {
			problems = append(problems, fmt.Errorf("partition column %s is not in the primary key, so a key could be in two partitions: "+
				"add it to primary-key or leave it out of partition-by", k))
		}
	}
	if !s.Append() && len(s.TrimmedPrimaryKeys()) == 0 {
		problems = append(problems, errors.New("the primary key has only partition columns, so a partition could hold one row: add a column to primary-key"))
	}
	return problems
}

// needKey are options that say how the rows of a key become one, so that they mean nothing in an append table.
var needKey = []string{"changelog-producer", "ignore-delete", "ignore-update-before", "merge-engine", "sequence.field"}

// checkAppend refuses what an append table cannot have.
func (s *Schema) checkAppend() (problems []error) {
	if !s.Append() {
		return nil
	}
	for _, key := range needKey {
		if v, ok := s.optionSet(key); ok && !strings.EqualFold(v, options[key].value) {
			problems = append(problems, fmt.Errorf("option %s is %q, but the table has no primary key, and so takes only new rows: remove the option, or set primary-key", key, v))
		}
	}
	return problems
}

func (s *Schema) checkBuckets() (problems []error) {
	n, err := s.Buckets()
	if err != nil {
		problems = append(problems, err)
	}
	keys := s.BucketKeys()
	switch {
	case !s.Append() || err != nil:
	case n == Unaware && len(keys) > 0:
		problems = append(problems, errors.New("option bucket-key is set, but option bucket is -1, which tells no buckets apart: set bucket to a count, or remove bucket-key"))
	case n != Unaware && len(keys) == 0:
		problems = append(problems, fmt.Errorf("option bucket is %d, but the table has no primary key to choose a bucket by: set bucket-key, or bucket to -1 (no buckets)", n))
	}
	for i, k := range keys {
		at := s.FieldIndex(k)
		switch {
		case at < 0:
			problems = append(problems, fmt.Errorf("option bucket-key names a column %q that is not there: "+
				"write the columns with commas and without spaces", k))
		case slices.Contains(s.PartitionKeys, k):
			problems = append(problems, fmt.Errorf("option bucket-key names the partition column %s: leave it out", k))
		case !s.Append() && !slices.Contains(s.PrimaryKeys, k):
			problems = append(problems, fmt.Errorf("option bucket-key names %s, which is not in the primary key, so a key could be in two buckets: leave it out", k))
		case slices.Contains(keys[:i], k):
			problems = append(problems, fmt.Errorf("option bucket-key names %s twice", k))
		}
	}
	if len(problems) > 0 {
		return problems
	}
	indexes := s.Indexes(keys)
	for _, i := range indexes {
		if t := s.Fields[i].Type; t.Nested() && s.Append() {
			return append(problems, fmt.Errorf("option bucket-key names %s of type %s, which has no hash: take another column", s.Fields[i].Name, t.Root))
		} else if t.Nested() {
			return nil // checkKeys tells
		}
	}
	function := s.Option("bucket-function.type")
	if !slices.Contains(options["bucket-function.type"].accepts, function) {
		return nil // checkOptions tells
	}
	if _, err := newBucketFunc(function, s.TypesOf(indexes), indexes); err != nil {
		problems = append(problems, err)
	}
	return problems
}

// SequenceFields returns the columns of option sequence.field, which decide between rows of a key; nil if it is not set.
func (s *Schema) SequenceFields() []string {
	v := strings.TrimSpace(s.Option("sequence.field"))
	if v == "" {
		return nil
	}
	fields := strings.Split(v, ",")
	for i := range fields {
		fields[i] = strings.TrimSpace(fields[i])
	}
	return fields
}

func (s *Schema) checkSequence() (problems []error) {
	fields := s.SequenceFields()
	for i, name := range fields {
		at := s.FieldIndex(name)
		switch {
		case at < 0:
			problems = append(problems, fmt.Errorf("option sequence.field names a column %q that is not there", name))
		case slices.Contains(fields[:i], name):
			problems = append(problems, fmt.Errorf("option sequence.field names %s twice", name))
		case s.Fields[at].Type.Nested():
			problems = append(problems, fmt.Errorf("option sequence.field names %s of type %s, which has no order: take another column", name, s.Fields[at].Type.Root))
		}
		if v := s.Options["fields."+name+".aggregate-function"]; v != "" {
			problems = append(problems, fmt.Errorf("option sequence.field names %s, which has the aggregate function %s: remove one of the two", name, v))
		}
	}
	return problems
}

func (s *Schema) checkStats() (problems []error) {
	for _, key := range []string{"metadata.stats-mode", "changelog-file.stats-mode"} {
		if v, ok := s.optionSet(key); ok {
			if _, err := ParseStatsMode(v); err != nil {
				problems = append(problems, fmt.Errorf("option %s: %w", key, err))
			}
		}
	}
	for _, f := range s.Fields {
		key := "fields." + f.Name + ".stats-mode"
		if v, ok := s.Options[key]; ok {
			if _, err := ParseStatsMode(v); err != nil {
				problems = append(problems, fmt.Errorf("option %s: %w", key, err))
			}
		}
	}
	return problems
}

func (s *Schema) checkRetention() (problems []error) {
	for _, what := range []string{"snapshot", "changelog"} {
		least, err1 := s.OptionInt(what + ".num-retained.min")
		most, err2 := s.OptionInt(what + ".num-retained.max")
		if err1 == nil && err2 == nil && least > most {
			problems = append(problems, fmt.Errorf("option %s.num-retained.min is %d, but %s.num-retained.max only %d: lower the one or raise the other",
				what, least, what, most))
		}
	}
	return problems
}
