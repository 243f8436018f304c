package table

import (
	"fmt"
	"slices"
	"strings"
)

// optionKind is how an option's text is read.
type optionKind uint8

const (
	optionText optionKind = iota
	optionNumber
	optionTruth
	optionMemory
	optionSpan
)

// option is a table option that the sink acts on or refuses.
type option struct {
	kind     optionKind
	value    string   // Paimon's default
	inherit  string   // the option whose value is the default, where Paimon has that
	former   []string // names it had before
	accepts  []string // the values that the sink can work with; nil: any
	refusal  string   // what would go wrong with others
	numbered int64    // the least number that makes sense
}

// neverSet stands in accepts for an option that may not be set at all.
const neverSet = ""

// options are those of org.apache.paimon.CoreOptions that change what a writer has to write, or how its files, snapshots
// and compactions come about.
var options = map[string]option{
	// Where rows go.
	"bucket":                 {value: "-1"}, // see checkBuckets
	"bucket-key":             {},
	"bucket-function.type":   {value: bucketDefault, accepts: []string{bucketDefault, bucketMod, bucketHive}, refusal: "rows would go to the wrong buckets"},
	"partition.default-name": {value: "__DEFAULT_PARTITION__"},
	"partition.legacy-name":  {kind: optionTruth, value: "true"},

	// What the rows mean.
	"merge-engine":                           {value: Deduplicate, accepts: []string{Deduplicate, FirstRow, PartialUpdate, Aggregation}, refusal: "the sink has no such merge engine"},
	"changelog-producer":                     {value: ProducerNone, accepts: []string{ProducerNone, ProducerInput, ProducerLookup, ProducerFull}, refusal: "it is no changelog producer"},
	rowDeduplicate:                           {kind: optionTruth, value: "false"},
	ignoredFields:                            {},
	"force-lookup":                           {kind: optionTruth, value: "false"},
	"sequence.field":                         {},
	"sequence.field.sort-order":              {value: "ascending", accepts: []string{"ascending", "descending"}, refusal: "it is no order"},
	"ignore-delete":                          {kind: optionTruth, value: "false", former: []string{"first-row.ignore-delete", "deduplicate.ignore-delete", "partial-update.ignore-delete"}},
	"ignore-update-before":                   {kind: optionTruth, value: "false"},
	"partial-update.remove-record-on-delete": {kind: optionTruth, value: "false"},
	"partial-update.remove-record-on-sequence-group": {},
	"aggregation.remove-record-on-delete":            {kind: optionTruth, value: "false"},
	"rowkind.field":                                  {accepts: []string{neverSet}, refusal: "the sink takes row kinds from the change events"},
	"deletion-vectors.enabled":                       {kind: optionTruth, value: "false", accepts: []string{"false"}, refusal: "the sink writes no deletion vectors, so old rows would show"},
	"row-tracking.enabled":                           {kind: optionTruth, value: "false", accepts: []string{"false"}, refusal: "the sink gives rows no ids"},
	"data-evolution.enabled":                         {kind: optionTruth, value: "false", accepts: []string{"false"}, refusal: "the sink writes whole rows"},
	"primary-key.nullable":                           {kind: optionTruth, value: "false", accepts: []string{"false"}, refusal: "the sink writes no null keys"},
	"pk-clustering-override":                         {kind: optionTruth, value: "false", accepts: []string{"false"}, refusal: "the sink sorts files by the primary key"},
	"chain-table.enabled":                            {kind: optionTruth, value: "false", accepts: []string{"false"}, refusal: "the sink knows no chain tables"},
	"sequence.snapshot-ordering": {kind: optionTruth, value: "false", accepts: []string{"false"},
		refusal: "it changes what sequence numbers mean"},
	"write.sequence-number-init-mode": {value: "scan", accepts: []string{"scan"}, refusal: "the sink finds its sequence numbers by itself"},

	"record-level.expire-time": {accepts: []string{neverSet}, refusal: "the sink lets no single rows expire, so old rows would show"},
	"record-level.time-field":  {accepts: []string{neverSet}, refusal: "the sink lets no single rows expire"},

	// Where files are and how they look.
	"branch":                                  {value: "main", accepts: []string{"main"}, refusal: "the sink writes the main branch"},
	"type":                                    {value: "table", accepts: []string{"table", "materialized-table"}, refusal: "it is no table of Paimon's own files"},
	"data-file.path-directory":                {accepts: []string{neverSet}, refusal: "the sink keeps data files in the bucket's folder"},
	"data-file.external-paths":                {accepts: []string{neverSet}, refusal: "the sink keeps data files in the table's folder"},
	"file.format":                             {value: "parquet", accepts: []string{"parquet"}, refusal: "the sink writes Parquet"},
	"changelog-file.format":                   {inherit: "file.format", accepts: []string{"parquet"}, refusal: "the sink writes Parquet"},
	"manifest.format":                         {value: "avro", accepts: []string{"avro"}, refusal: "the sink writes Avro manifests"},
	"file.compression":                        {value: "zstd", accepts: fileCodecs, refusal: "Paimon reads no such file"},
	"changelog-file.compression":              {inherit: "file.compression", accepts: fileCodecs, refusal: "Paimon reads no such file"},
	"file.compression.zstd-level":             {kind: optionNumber, value: "1", numbered: 1},
	"manifest.compression":                    {value: "zstd"},
	"file.format.per.level":                   {accepts: []string{neverSet}, refusal: "the sink writes all levels alike"},
	"file.compression.per.level":              {accepts: []string{neverSet}, refusal: "the sink writes all levels alike"},
	"metadata.stats-mode.per.level":           {accepts: []string{neverSet}, refusal: "the sink writes all levels alike"},
	"index-file-in-data-file-dir":             {kind: optionTruth, value: "false"},
	"file.suffix.include.compression":         {kind: optionTruth, value: "false"},
	"data-file.prefix":                        {value: "data-"},
	"changelog-file.prefix":                   {value: "changelog-"},
	"data-file.thin-mode":                     {kind: optionTruth, value: "false"},
	"target-file-size":                        {kind: optionMemory, value: "128 mb"},
	"metadata.stats-mode":                     {value: "truncate(16)"},
	"changelog-file.stats-mode":               {inherit: "metadata.stats-mode"},
	"metadata.stats-dense-store":              {kind: optionTruth, value: "true"},
	"metadata.stats-keep-first-n-columns":     {kind: optionNumber, value: "-1", numbered: -1},
	"manifest.target-file-size":               {kind: optionMemory, value: "8 mb"},
	"manifest.merge-min-count":                {kind: optionNumber, value: "30", numbered: 1},
	"manifest.full-compaction-threshold-size": {kind: optionMemory, value: "16 mb"},
	"commit.callbacks":                        {accepts: []string{neverSet}, refusal: "the sink runs no Java classes after a commit"},
	"tag.callbacks":                           {accepts: []string{neverSet}, refusal: "the sink runs no Java classes after a tag"},
	"commit.strict-mode.last-safe-snapshot":   {accepts: []string{neverSet}, refusal: "the sink commits also after compactions and overwrites of others"},
	"metadata.iceberg.storage":                {value: "disabled", accepts: []string{"disabled"}, refusal: "the sink writes no Iceberg metadata, which would go stale"},

	// How a table is kept in shape.
	"write-only":                                {kind: optionTruth, value: "false", former: []string{"write.compaction-skip"}},
	"num-sorted-run.compaction-trigger":         {kind: optionNumber, value: "5", numbered: 1},
	"num-sorted-run.stop-trigger":               {kind: optionNumber, numbered: 1},
	"num-levels":                                {kind: optionNumber, numbered: 2},
	"compaction.max-size-amplification-percent": {kind: optionNumber, value: "200", numbered: 0},
	"compaction.size-ratio":                     {kind: optionNumber, value: "1", numbered: 0},
	"compaction.min.file-num":                   {kind: optionNumber, value: "5", numbered: 1},
	deltaCommits:                                {kind: optionNumber, numbered: 1},
	lookupWait:                                  {kind: optionTruth, value: "true", former: []string{"changelog-producer.lookup-wait"}},
	lookupCompact:                               {value: "radical", accepts: []string{"radical", "gentle"}, refusal: "Paimon has no other"},
	"snapshot.num-retained.min":                 {kind: optionNumber, value: "10", numbered: 1},
	"snapshot.num-retained.max":                 {kind: optionNumber, value: "2147483647", numbered: 1},
	"snapshot.time-retained":                    {kind: optionSpan, value: "1 h"},
	"snapshot.expire.limit":                     {kind: optionNumber, value: "50", numbered: 1},
	"changelog.num-retained.min":                {kind: optionNumber, inherit: "snapshot.num-retained.min", numbered: 1},
	"changelog.num-retained.max":                {kind: optionNumber, inherit: "snapshot.num-retained.max", numbered: 1},
	"changelog.time-retained":                   {kind: optionSpan, inherit: "snapshot.time-retained"},
	"consumer.expiration-time":                  {kind: optionSpan},
	"commit.max-retries":                        {kind: optionNumber, value: "10", numbered: 0},
	"commit.min-retry-wait":                     {kind: optionSpan, value: "10 ms"},
	"commit.max-retry-wait":                     {kind: optionSpan, value: "10 s"},
}

// fileCodecs are the values of file.compression that every Paimon reads.
var fileCodecs = []string{"zstd", "snappy", "gzip", "lz4", "none", "uncompressed"}

// elsewhere are options of Paimon that do not concern what the sink writes: they steer readers, Java's own writers,
// compactors and services. A name that ends with a dot or a dash stands for all that begin so.
var elsewhere = strings.Fields(`
	aggregation. alias. alter-column-null-to-not-null.disabled async-file-write auto-create avro. batch-scan-mode
	bucket-append-ordered cache-page-size changelog-producer. commit.callback. consumer-id consumer.
	continuous. cross-partition-upsert. data-file.external-paths.specific-fs data-file.external-paths.strategy
	delete-file.thread-num delete.force-produce-changelog deletion-vector. deletion-vectors. disable-explicit-type-casting
	dynamic-bucket. dynamic-partition-overwrite end-input. fields. file-index.in-manifest-threshold file-index.read.enabled
	file-operation. file-reader-async-threshold first-row. hive.
	incremental- local- lookup- lookup.
	materialized-table. metadata.iceberg. orc.
	owner page-size partial-update. partition. path query-auth. read. scan.
	sink. snapshot. sort- source. spill- stream-scan-mode streaming- streaming. tag. upsert-key write-buffer- write-max-
	write. zorder.`)

// idle are options of Paimon that ask a writer for what the sink does not do, though its tables are right without: one warning tells so.
// They go before those elsewhere. A name that ends with a dot or a dash stands for all that begin so.
var idle = strings.Fields(`
	add-column-before-partition blob- blob. chain-table. clustering. commit.discard-duplicate-files commit.force-compact
	commit.force-create-snapshot commit.timeout commit.user-prefix compaction. data-evolution. data-file.external-paths.weights lookup-compact.max-interval
	file-index. file.block-size format-table. full-text-index. global-index. log. manifest-sort.
	manifest.delete-file-drop-stats manifest.merge-optimize. metastore. overwrite-upgrade parquet. partition
	partition.idle-time-to-done partition.mark-done-action partition.time-interval pk-bitmap. pk-btree. pk-full-text.
	pk-multivalue. pk-vector. postpone. primary-key row-tracking. scalar-index. snapshot.clean-empty-directories
	snapshot.ignore-empty-commit table-read. tag.create-success-file target-file-row-num vector-field vector-index.
	vector-search. vector. visibility-callback.`)

// Option returns an option's value: as set, else under a former name, else Paimon's default, else "". The default of some
// options is the value of another, as changelog-file.format is file.format's. Of an option with a few known values, such as
// merge-engine, the value is spelt as Paimon spells it, whatever case was set.
func (s *Schema) Option(key string) string {
	o := options[key]
	if v, ok := s.optionSet(key); ok {
		if i := slices.IndexFunc(o.accepts, func(a string) bool { return strings.EqualFold(a, v) }); i >= 0 {
			return o.accepts[i]
		}
		return v
	}
	if o.inherit != "" {
		return s.Option(o.inherit)
	}
	return o.value
}

// optionSet returns what is set under the option's name or a former one.
func (s *Schema) optionSet(key string) (string, bool) {
	if v, ok := s.Options[key]; ok {
		return v, true
	}
	for _, name := range options[key].former {
		if v, ok := s.Options[name]; ok {
			return v, true
		}
	}
	return "", false
}

// Options of tables that look up, and how the sink does it whatever they say: a checkpoint waits for no compaction, and that which follows
// brings all of level 0 up.
const (
	lookupWait    = "lookup-wait"    // true: Paimon's own writers wait with a checkpoint until it is compacted
	lookupCompact = "lookup-compact" // gentle: they leave rows on level 0 for a while
)

// idleValues are options of which one value asks a writer for what the sink does not do, if somebody has set it.
var idleValues = map[string]string{lookupWait: "true", lookupCompact: "gentle"}

// IdleOptions returns the names of set options of Paimon that ask a writer for what the sink does not do, sorted. They are kept in the
// schema, where other writers find them, and the table's rows are right without; that they do nothing here is worth one warning.
func (s *Schema) IdleOptions() []string {
	var out []string
	for key := range s.Options {
		if idleOption(key) {
			out = append(out, key)
		}
	}
	for key, value := range idleValues {
		if v, ok := s.optionSet(key); ok && strings.EqualFold(strings.TrimSpace(v), value) {
			out = append(out, key)
		}
	}
	slices.Sort(out)
	return out
}

// UnknownOptions returns the names of set options that this version of the sink has never heard of, sorted. They are
// kept in the schema; that they have no effect is worth one warning.
func (s *Schema) UnknownOptions() []string {
	var out []string
	for key := range s.Options {
		if !knownOption(key) {
			out = append(out, key)
		}
	}
	slices.Sort(out)
	return out
}

func knownOption(key string) bool {
	return ownOption(key) || named(idle, key) || named(elsewhere, key)
}

// idleOption reports whether an option is in idle. One that elsewhere has by its whole name is not.
func idleOption(key string) bool {
	return !ownOption(key) && named(idle, key) && !slices.Contains(elsewhere, key)
}

// ownOption reports whether the sink acts on an option, or refuses it.
func ownOption(key string) bool {
	if _, ok := options[key]; ok {
		return true
	}
	for _, o := range options {
		if slices.Contains(o.former, key) {
			return true
		}
	}
	return false
}

// named reports whether names have an option, in full or by its beginning.
func named(names []string, key string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		if c := name[len(name)-1]; c == '.' || c == '-' {
			return strings.HasPrefix(key, name)
		}
		return key == name
	})
}

// checkOptions returns what keeps the sink from writing a table with these options, in the order of their names.
func (s *Schema) checkOptions() []error {
	keys := make([]string, 0, len(options))
	for key := range options {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	var problems []error
	for _, key := range keys {
		if v, ok := s.optionSet(key); ok {
			if err := s.checkOption(key, v); err != nil {
				problems = append(problems, err)
			}
		}
	}
	return problems
}

func (s *Schema) checkOption(key, value string) error {
	o := options[key]
	if o.accepts != nil && !slices.Contains(o.accepts, s.Option(key)) {
		if slices.Equal(o.accepts, []string{neverSet}) {
			return fmt.Errorf("option %s is set, but %s: remove it", key, o.refusal)
		}
		return fmt.Errorf("option %s is %q, but %s: set it to %s", key, value, o.refusal, strings.Join(o.accepts, " or "))
	}
	var err error
	switch o.kind {
	case optionNumber:
		var n int64
		if n, err = s.OptionInt(key); err == nil && n < o.numbered {
			err = fmt.Errorf("option %s is %d, but has to be at least %d", key, n, o.numbered)
		}
	case optionTruth:
		_, err = s.OptionBool(key)
	case optionMemory:
		_, err = s.OptionSize(key)
	case optionSpan:
		_, err = s.OptionDuration(key)
	}
	return err
}
