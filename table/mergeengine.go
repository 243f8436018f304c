package table

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The merge engines (org.apache.paimon.CoreOptions.MergeEngine): how rows of one key become one.
const (
	Deduplicate   = "deduplicate"    // the newest stays
	FirstRow      = "first-row"      // the oldest stays
	PartialUpdate = "partial-update" // a newer row fills in what it knows
	Aggregation   = "aggregation"    // each column has a function
)

// Options of single columns: fields.<column>.<suffix>.
const (
	fieldsPrefix        = "fields."
	aggregateSuffix     = ".aggregate-function"
	sequenceGroupSuffix = ".sequence-group"
	defaultAggregate    = "fields.default-aggregate-function"
)

// LastNonNull is the function that a column has when nothing else is said, and the one that partial-update needs no
// sequence group for.
const LastNonNull = "last_non_null_value"

// PrimaryKeyFunction is the function of the columns of the key.
const PrimaryKeyFunction = "primary-key"

// Aggregate says how the values of a column become one (org.apache.paimon.mergetree.compact.aggregate).
type Aggregate struct {
	Function      string
	IgnoreRetract bool   // fields.<column>.ignore-retract: -U and -D change nothing
	Distinct      bool   // fields.<column>.distinct, of collect
	Delimiter     string // fields.<column>.list-agg-delimiter, of listagg
	NestedKey     []int  // fields.<column>.nested-key, of nested_update: members of the element
	CountLimit    int    // fields.<column>.count-limit, of nested_update
}

// Retracts reports whether the function can take back what a row has added.
func (a *Aggregate) Retracts() bool {
	return a.IgnoreRetract || functions[a.Function].retracts
}

// SequenceGroup are columns of partial-update that change together: a row changes them when its sequence columns are not
// lower than those that are there. Both are positions in Schema.Fields; Columns lacks the sequence columns themselves.
type SequenceGroup struct {
	Sequence []int
	Columns  []int
}

// function is what is known of an aggregate function beside how it works.
type function struct {
	retracts bool
	takes    func(t Type) bool
	what     string // the types that it takes
}

func anyType(Type) bool { return true }

func numeric(t Type) bool { return t.Root >= TinyInt && t.Root <= Decimal }

func ofBytes(t *Type) bool { return t.Root == Binary || t.Root == VarBinary }

// functions are the aggregate functions by name (org.apache.paimon.mergetree.compact.aggregate.factory).
var functions = map[string]function{
	PrimaryKeyFunction:     {true, anyType, ""},
	"sum":                  {true, numeric, "a number"},
	"product":              {true, numeric, "a number"},
	"max":                  {false, func(t Type) bool { return !t.Nested() }, "of a type with an order"},
	"min":                  {false, func(t Type) bool { return !t.Nested() }, "of a type with an order"},
	"last_value":           {true, anyType, ""},
	LastNonNull:            {true, anyType, ""},
	"first_value":          {false, anyType, ""},
	"first_non_null_value": {false, anyType, ""},
	"first_not_null_value": {false, anyType, ""},
	"listagg":              {false, func(t Type) bool { return t.Root == VarChar }, "a VARCHAR or STRING"},
	"bool_and":             {false, func(t Type) bool { return t.Root == Boolean }, "a BOOLEAN"},
	"bool_or":              {false, func(t Type) bool { return t.Root == Boolean }, "a BOOLEAN"},
	"collect":              {true, func(t Type) bool { return t.Root == Array }, "an ARRAY"},
	"merge_map":            {true, func(t Type) bool { return t.Root == Map && !ofBytes(t.Key) }, "a MAP whose keys are no bytes"},
	"nested_update":        {true, func(t Type) bool { return t.Root == Array && t.Element.Root == RowType }, "an ARRAY of ROW"},
}

// sketches are functions of Paimon that the sink does not have.
var sketches = []string{"hll_sketch", "theta_sketch", "rbm32", "rbm64", "nested_partial_update", "merge_map_with_keytime"}

// columnSuffixes are the options fields.<column>.* that the sink acts on, in alphabetical order.
var columnSuffixes = []string{
	"aggregate-function", "count-limit", "distinct", "ignore-retract", "list-agg-delimiter", "nested-key", "sequence-group", "stats-mode",
}

// MergeEngine returns the table's merge engine.
func (s *Schema) MergeEngine() string { return s.Option("merge-engine") }

// AllowMerged lets the columns of a table that is about to be made, but for those of its key, have no value where the merge engine can
// make a row without one: a partial-update of which the part has not come, an aggregation that took its last value back.
func (s *Schema) AllowMerged() {
	if e := s.MergeEngine(); e != PartialUpdate && e != Aggregation {
		return
	}
	for i := range s.Fields {
		if f := &s.Fields[i]; !slices.Contains(s.PrimaryKeys, f.Name) {
			f.Type = f.Type.Nullable()
		}
	}
}

// SequenceGroups returns the sequence groups of partial-update, in the order of their options.
func (s *Schema) SequenceGroups() ([]SequenceGroup, error) {
	var groups []SequenceGroup
	taken := map[int]string{}
	for _, key := range s.columnOptions() {
		if !strings.HasSuffix(key, sequenceGroupSuffix) {
			continue
		}
		var g SequenceGroup
		for _, name := range strings.Split(strings.TrimSuffix(strings.TrimPrefix(key, fieldsPrefix), sequenceGroupSuffix), ",") {
			at := s.FieldIndex(name)
			if at < 0 {
				return nil, fmt.Errorf("option %s names a column %q that is not there", key, name)
			}
			if t := s.Fields[at].Type; t.Nested() {
				return nil, fmt.Errorf("option %s names %s of type %s, which has no order: take another column", key, name, t.Root)
			}
			g.Sequence = append(g.Sequence, at)
		}
		for _, name := range strings.Split(s.Options[key], ",") {
			at := s.FieldIndex(name)
			switch {
			case at < 0:
				return nil, fmt.Errorf("option %s has a column %q that is not there", key, name)
			case slices.Contains(s.PrimaryKeys, name):
				return nil, fmt.Errorf("option %s has %s, which is in the primary key: leave it out", key, name)
			case taken[at] != "":
				return nil, fmt.Errorf("option %s has %s, which %s has, too: a column is in one group", key, name, taken[at])
			}
			taken[at] = key
			if !slices.Contains(g.Sequence, at) {
				g.Columns = append(g.Columns, at)
			}
		}
		groups = append(groups, g)
	}
	return groups, nil
}

// columnOptions returns the names of the options of single columns, sorted.
func (s *Schema) columnOptions() []string {
	var keys []string
	for key := range s.Options {
		if strings.HasPrefix(key, fieldsPrefix) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// Aggregates returns how the values of each column become one, for aggregation and for the sequence groups of
// partial-update; nil for a column without a function. All that is wrong comes as one error after the other.
func (s *Schema) Aggregates(groups []SequenceGroup) (found []*Aggregate, problems []error) {
	grouped, sequences := map[int]bool{}, s.Indexes(s.SequenceFields())
	partial := s.MergeEngine() == PartialUpdate
	if partial {
		sequences = nil
	}
	for _, g := range groups {
		sequences = append(sequences, g.Sequence...)
		for _, c := range g.Columns {
			grouped[c] = true
		}
	}
	found = make([]*Aggregate, len(s.Fields))
	for i, f := range s.Fields {
		name, key := s.functionOf(f.Name)
		switch {
		case slices.Contains(sequences, i) && partial:
			continue
		case slices.Contains(sequences, i):
			name = "last_value"
		case slices.Contains(s.PrimaryKeys, f.Name):
			name = PrimaryKeyFunction
		case name == "" && partial:
			continue
		case name == "":
			name = LastNonNull
		case partial && name != LastNonNull && !grouped[i]:
			problems = append(problems, fmt.Errorf("option %s is %s, but column %s is in no sequence group, which partial-update wants: "+
				"set fields.<sequence column>.sequence-group", key, name, f.Name))
			continue
		}
		a, err := s.aggregate(name, key, f)
		if err != nil {
			problems = append(problems, err)
		}
		found[i] = a
	}
	return found, problems
}

// functionOf returns the function that options give to a column, and the option.
func (s *Schema) functionOf(column string) (name, key string) {
	key = fieldsPrefix + column + aggregateSuffix
	if v, ok := s.Options[key]; ok {
		return v, key
	}
	return s.Options[defaultAggregate], defaultAggregate
}

func (s *Schema) aggregate(name, key string, f Field) (*Aggregate, error) {
	known, ok := functions[name]
	switch {
	case slices.Contains(sketches, name):
		return nil, fmt.Errorf("option %s is %s, which the sink does not have: leave that table to Paimon's own writers", key, name)
	case !ok:
		return nil, fmt.Errorf("option %s is %q, which is no function of Paimon", key, name)
	case !known.takes(f.Type):
		return nil, fmt.Errorf("option %s is %s, but column %s of type %s is not %s", key, name, f.Name, f.Type, known.what)
	}
	a := &Aggregate{Function: name, Delimiter: ",", CountLimit: MaxLength}
	var err error
	if a.IgnoreRetract, err = s.columnTruth(f.Name, "ignore-retract"); err != nil {
		return nil, err
	}
	if a.Distinct, err = s.columnTruth(f.Name, "distinct"); err != nil {
		return nil, err
	}
	if v, ok := s.Options[fieldsPrefix+f.Name+".list-agg-delimiter"]; ok {
		a.Delimiter = v
	}
	switch name {
	case "listagg":
		if a.Distinct {
			return nil, fmt.Errorf("option fields.%s.distinct is true, but Paimon's versions do not agree on listagg with it: remove it", f.Name)
		}
	case "collect":
		if a.Distinct && ofBytes(f.Type.Element) {
			return nil, fmt.Errorf("option fields.%s.distinct is true, but Paimon never finds two elements of type %s equal: remove it", f.Name, f.Type.Element)
		}
	case "nested_update":
		err = s.nestedUpdate(a, f)
	}
	return a, err
}

func (s *Schema) columnTruth(column, suffix string) (bool, error) {
	key := fieldsPrefix + column + "." + suffix
	v, ok := s.Options[key]
	if !ok {
		return false, nil
	}
	b, err := strconv.ParseBool(strings.ToLower(strings.TrimSpace(v)))
	if err != nil {
		return false, fmt.Errorf("option %s is %q, but has to be true or false", key, v)
	}
	return b, nil
}

// nestedUpdate reads the options of the function nested_update.
func (s *Schema) nestedUpdate(a *Aggregate, f Field) error {
	if v := s.Options[fieldsPrefix+f.Name+".nested-key"]; v != "" {
		for _, name := range strings.Split(v, ",") {
			at := slices.IndexFunc(f.Type.Element.Fields, func(m Field) bool { return m.Name == name })
			if at < 0 {
				return fmt.Errorf("option fields.%s.nested-key names a member %q that %s does not have", f.Name, name, f.Name)
			}
			a.NestedKey = append(a.NestedKey, at)
		}
	}
	if v, ok := s.Options[fieldsPrefix+f.Name+".count-limit"]; ok {
		n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 32)
		if err != nil {
			return fmt.Errorf("option fields.%s.count-limit is %q, but has to be a whole number", f.Name, v)
		}
		a.CountLimit = int(n)
	}
	return nil
}
