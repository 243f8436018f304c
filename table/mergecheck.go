package table

import (
	"fmt"
	"slices"
	"strings"
)

// checkMerge: the merge engine and its options fit each other, as org.apache.paimon.schema.SchemaValidation and the
// factories of the merge functions demand.
func (s *Schema) checkMerge() (problems []error) {
	problems = append(problems, s.checkColumnOptions()...)
	if s.Append() {
		return problems
	}
	problems = append(problems, s.checkRemoval()...)
	switch s.MergeEngine() {
	case FirstRow:
		if p := s.Option("changelog-producer"); p != "none" && p != "lookup" {
			problems = append(problems, fmt.Errorf("option changelog-producer is %s, but merge-engine first-row goes with none or lookup only: "+
				"set it to lookup, which tells the first rows (a changelog of all input would hold rows that the table does not take)", p))
		}
		if len(s.SequenceFields()) > 0 {
			problems = append(problems, fmt.Errorf("option sequence.field is set, but merge-engine first-row takes rows in their order of arrival: remove it"))
		}
	case PartialUpdate, Aggregation:
		groups, err := s.SequenceGroups()
		if err != nil {
			return append(problems, err)
		}
		for _, g := range groups {
			for _, c := range g.Sequence {
				if key := fieldsPrefix + s.Fields[c].Name + aggregateSuffix; s.Options[key] != "" {
					problems = append(problems, fmt.Errorf("option %s is set, but the column orders a sequence group: remove one of the two", key))
				}
			}
		}
		if s.MergeEngine() == Aggregation {
			groups = nil
		}
		found, more := s.Aggregates(groups)
		problems = append(problems, more...)
		problems = append(problems, s.checkIgnoreRetract(found)...)
	}
	return problems
}

// checkColumnOptions: options of single columns name columns that are there, and are known.
func (s *Schema) checkColumnOptions() (problems []error) {
	for _, key := range s.columnOptions() {
		if key == defaultAggregate {
			continue
		}
		names, suffix, _ := strings.Cut(strings.TrimPrefix(key, fieldsPrefix), ".")
		for _, name := range strings.Split(names, ",") {
			if s.FieldIndex(name) < 0 {
				problems = append(problems, fmt.Errorf("option %s names a column %q that is not there", key, name))
			}
		}
		if !slices.Contains(columnSuffixes, suffix) {
			problems = append(problems, fmt.Errorf("option %s is one that the sink does not have: of fields.<column> it knows %s",
				key, strings.Join(columnSuffixes, ", ")))
		}
	}
	return problems
}

// checkRemoval: only one option says what a delete does.
func (s *Schema) checkRemoval() (problems []error) {
	if s.MergeEngine() != PartialUpdate {
		return nil
	}
	const onDelete, onGroup = "partial-update.remove-record-on-delete", "partial-update.remove-record-on-sequence-group"
	ignores, err1 := s.OptionBool("ignore-delete")
	removes, err2 := s.OptionBool(onDelete)
	groups, err3 := s.SequenceGroups()
	if err1 != nil || err2 != nil || err3 != nil {
		return nil // told elsewhere
	}
	if removes && ignores {
		problems = append(problems, fmt.Errorf("options ignore-delete and %s are both true: remove one of the two", onDelete))
	}
	if removes && len(groups) > 0 {
		problems = append(problems, fmt.Errorf("option %s is true, but the table has sequence groups: take %s", onDelete, onGroup))
	}
	names := s.Option(onGroup)
	if names == "" {
		return problems
	}
	if ignores {
		problems = append(problems, fmt.Errorf("option ignore-delete is true, but %s is set: remove one of the two", onGroup))
	}
	for _, name := range strings.Split(names, ",") {
		at := s.FieldIndex(name)
		if !slices.ContainsFunc(groups, func(g SequenceGroup) bool { return slices.Contains(g.Sequence, at) }) {
			problems = append(problems, fmt.Errorf("option %s names %q, which orders no sequence group", onGroup, name))
		}
	}
	return problems
}

// checkIgnoreRetract: a delete cannot both remove the row and leave a column of it.
func (s *Schema) checkIgnoreRetract(found []*Aggregate) (problems []error) {
	const onDelete = "aggregation.remove-record-on-delete"
	removes, err := s.OptionBool(onDelete)
	if err != nil || !removes {
		return nil
	}
	for i, a := range found {
		if a != nil && a.IgnoreRetract {
			problems = append(problems, fmt.Errorf("options %s and fields.%s.ignore-retract are both true: remove one of the two", onDelete, s.Fields[i].Name))
		}
	}
	return problems
}

// Warnings returns what is legal but may not be meant: options that nobody knows, and a changelog of raw input, which does
// not hold the rows that the merge engine makes of it.
func (s *Schema) Warnings() []string {
	var warnings []string
	for _, name := range s.UnknownOptions() {
		warnings = append(warnings, fmt.Sprintf("option %s is none that Paimon is known to have: it is kept in the table and does nothing here; check its name", name))
	}
	for _, name := range s.IdleOptions() {
		warnings = append(warnings, fmt.Sprintf("option %s is kept in the table for other writers of Paimon: the sink does not do what it asks for", name))
	}
	engine := s.MergeEngine()
	if s.Option("changelog-producer") != "input" || engine != PartialUpdate && engine != Aggregation {
		return warnings
	}
	return append(warnings, fmt.Sprintf("merge-engine is %s and changelog-producer is input: a streaming reader sees the rows as they came in, and not what %[1]s makes of them; "+
		"set changelog-producer to lookup or full-compaction to have compaction tell it that", engine))
}
