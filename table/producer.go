package table

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// The changelog producers (org.apache.paimon.CoreOptions.ChangelogProducer): where the changes come from that a streaming
// reader sees.
const (
	ProducerNone   = "none"            // from nowhere: it sees the rows that are appended
	ProducerInput  = "input"           // from the source: all that a checkpoint takes in
	ProducerLookup = "lookup"          // from each compaction that brings rows up from level 0
	ProducerFull   = "full-compaction" // from each full compaction
)

const (
	rowDeduplicate = "changelog-producer.row-deduplicate"
	ignoredFields  = "changelog-producer.row-deduplicate-ignore-fields"
	deltaCommits   = "full-compaction.delta-commits"
)

// ChangelogProducer returns the option changelog-producer, in small letters.
func (s *Schema) ChangelogProducer() string { return strings.ToLower(s.Option("changelog-producer")) }

// CompactionTells reports whether compaction makes the changelog: then a row is in no changelog before it was compacted.
func (s *Schema) CompactionTells() bool {
	p := s.ChangelogProducer()
	return p == ProducerLookup || p == ProducerFull
}

// LooksUp reports whether a compaction that brings rows up from level 0 looks up those of higher levels and merges them in, so
// that of a key's rows above level 0 only that of the lowest level counts (org.apache.paimon.lookup.LookupStrategy). The value of
// force-lookup is checked elsewhere.
func (s *Schema) LooksUp() bool {
	forced, _ := s.OptionBool("force-lookup")
	return !s.Append() && (forced || s.ChangelogProducer() == ProducerLookup || s.MergeEngine() == FirstRow)
}

// Pending reports whether rows of the files of a bucket are not in the changelog yet that compaction makes.
func (s *Schema) Pending(files []File) bool {
	told := s.ToldLevel(files)
	return s.CompactionTells() && slices.ContainsFunc(files, func(f File) bool { return f.Level < told })
}

// ToldLevel returns the lowest level of a bucket whose rows are in the changelog that compaction makes: with lookup the first; with
// full-compaction the highest that has files, whatever num-levels says by now, since what lies above others of its bucket goes to a level
// between.
func (s *Schema) ToldLevel(files []File) int32 {
	level := int32(1)
	if s.ChangelogProducer() == ProducerFull {
		for i := range files {
			level = max(level, files[i].Level)
		}
	}
	return level
}

// Levels returns option num-levels, level 0 included: by default one more than num-sorted-run.compaction-trigger.
func (s *Schema) Levels() (int, error) {
	key, more := "num-levels", int64(0)
	if s.Option(key) == "" {
		key, more = "num-sorted-run.compaction-trigger", 1
	}
	n, err := s.OptionInt(key)
	return int(min(max(n+more, 2), math.MaxInt32)), err
}

// ComparedColumns returns the columns, positions in Fields, of which one has to differ between the rows before and after for
// compaction to tell a change. Nil: it tells all.
func (s *Schema) ComparedColumns() ([]int, error) {
	on, err := s.OptionBool(rowDeduplicate)
	if err != nil || !on {
		return nil, err
	}
	ignored := s.ignoredFields()
	compared := []int{}
	for i, f := range s.Fields {
		if !slices.Contains(ignored, f.Name) {
			compared = append(compared, i)
		}
	}
	return compared, nil
}

func (s *Schema) ignoredFields() []string {
	v := s.Option(ignoredFields)
	if v == "" {
		return nil
	}
	return strings.Split(v, ",")
}

// FullCompactionEvery returns after how many commits all of the table is compacted; 0: never for that reason. Producer
// full-compaction does it after each when nothing is said (org.apache.paimon.flink.sink.FlinkSink).
func (s *Schema) FullCompactionEvery() (int64, error) {
	if s.Append() {
		return 0, nil
	}
	if _, ok := s.optionSet(deltaCommits); ok {
		return s.OptionInt(deltaCommits)
	}
	if s.ChangelogProducer() == ProducerFull {
		return 1, nil
	}
	return 0, nil
}

// checkProducer: the changelog producer and its options fit the table.
func (s *Schema) checkProducer() (problems []error) {
	for _, name := range s.ignoredFields() {
		if s.FieldIndex(name) < 0 {
			problems = append(problems, fmt.Errorf("option %s names a column %q that is not there", ignoredFields, name))
		}
	}
	if !s.CompactionTells() {
		return problems
	}
	if _, ok := s.optionSet(deltaCommits); ok && s.ChangelogProducer() == ProducerLookup {
		problems = append(problems, fmt.Errorf("option %s is set, but changelog-producer is lookup, which Paimon refuses together: remove it, or set changelog-producer to full-compaction", deltaCommits))
	}
	if v := s.Options["streaming-read-overwrite"]; strings.EqualFold(v, "true") {
		problems = append(problems, fmt.Errorf("option streaming-read-overwrite is true, but changelog-producer is %s: remove one of the two", s.ChangelogProducer()))
	}
	return problems
}
