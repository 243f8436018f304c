package expire

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sink/commit"
	"sink/table"
	"sink/table/manifest"
)

// PartitionPolicy says when partitions go. It comes from Paimon's table options partition.*.
type PartitionPolicy struct {
	After      time.Duration // partition.expiration-time; 0: partitions stay
	Every      time.Duration // partition.expiration-check-interval
	ByUpdate   bool          // partition.expiration-strategy is update-time: age counts from the newest file, not from the value
	Pattern    string        // partition.timestamp-pattern, such as "$dt $hour:00:00"; empty: the first partition column
	Layout     string        // partition.timestamp-formatter as a Go layout; empty: "2006-01-02 15:04:05" or "2006-01-02"
	MaxAtOnce  int           // partition.expiration-max-num
	dateColumn []bool        // partition columns of type DATE
}

// PartitionPolicyOf returns what a schema's table options ask for.
func PartitionPolicyOf(s *table.Schema) (PartitionPolicy, error) {
	p := PartitionPolicy{Every: time.Hour, MaxAtOnce: 100, Pattern: s.Options["partition.timestamp-pattern"]}
	var problems []error
	span := func(key string, dst *time.Duration) {
		if v := s.Options[key]; v != "" {
			d, err := table.ParseDuration(v)
			if err != nil {
				problems = append(problems, fmt.Errorf("option %s: %w", key, err))
			}
			*dst = d
		}
	}
	span("partition.expiration-time", &p.After)
	span("partition.expiration-check-interval", &p.Every)
	switch v := s.Options["partition.expiration-strategy"]; v {
	case "", "values-time":
	case "update-time":
		p.ByUpdate = true
	default:
		problems = append(problems, fmt.Errorf("option partition.expiration-strategy is %q, want values-time or update-time", v))
	}
	if v := s.Options["partition.expiration-max-num"]; v != "" {
		if _, err := fmt.Sscan(v, &p.MaxAtOnce); err != nil || p.MaxAtOnce < 1 {
			problems = append(problems, fmt.Errorf("option partition.expiration-max-num is %q, want a number above 0", v))
		}
	}
	if v := s.Options["partition.timestamp-formatter"]; v != "" {
		var err error
		if p.Layout, err = goLayout(v); err != nil {
			problems = append(problems, fmt.Errorf("option partition.timestamp-formatter: %w", err))
		}
	}
	if p.After > 0 && len(s.PartitionKeys) == 0 {
		problems = append(problems, errors.New("option partition.expiration-time is set, but the table has no partitions"))
	}
	for _, i := range s.Indexes(s.PartitionKeys) {
		p.dateColumn = append(p.dateColumn, s.Fields[i].Type.Root == table.Date)
	}
	return p, errors.Join(problems...)
}

// Partition is one that expires.
type Partition struct {
	Path  string // "dt=2024-01-01/"
	Files []table.File
}

// ExpiredPartitions returns the partitions that are due, at most as many as the policy allows, and those whose time cannot
// be told from their values, which stay.
func (e *Expirer) ExpiredPartitions(ctx context.Context, p PartitionPolicy) (due []Partition, unclear []string, err error) {
	if p.After <= 0 {
		return nil, nil, nil
	}
	newest, err := manifest.LatestSnapshot(ctx, e.store, e.path)
	if err != nil || newest == nil {
		return nil, nil, e.wrap(err)
	}
	live, err := manifest.ReadLive(ctx, e.store, e.path, newest, nil)
	if err != nil {
		return nil, nil, e.wrap(err)
	}
	files := map[string][]table.File{}
	for i := range live {
		files[live[i].Bucket.Partition] = append(files[live[i].Bucket.Partition], live[i])
	}
	limit := e.cfg.Now().Add(-p.After)
	for partition, files := range files {
		name, err := table.PartitionPath(e.cfg.Schema, partition)
		if err != nil {
			return nil, nil, e.wrap(err)
		}
		at, err := e.timeOf(p, partition, files)
		switch {
		case err != nil:
			unclear = append(unclear, strings.TrimSuffix(name, "/")+": "+err.Error())
		case at.Before(limit):
			due = append(due, Partition{name, files})
		}
	}
	slices.Sort(unclear)
	slices.SortFunc(due, func(a, b Partition) int { return strings.Compare(a.Path, b.Path) })
	return due[:min(len(due), p.MaxAtOnce)], unclear, nil
}

// DropPartitions takes partitions out of the table, in one OVERWRITE snapshot. Rows that came since they were looked up
// stay. The error is commit.ErrConflict when files were compacted meanwhile, or the table's schema, and so its options, changed: look again.
func (e *Expirer) DropPartitions(ctx context.Context, c *commit.Committer, due []Partition) (commit.Result, error) {
	var d table.Delta
	for _, p := range due {
		d.Removed = append(d.Removed, p.Files...)
	}
	return c.Overwrite(ctx, d, e.cfg.Schema.ID)
}

// timeOf returns the time that a partition stands for.
func (e *Expirer) timeOf(p PartitionPolicy, partition string, files []table.File) (time.Time, error) {
	if p.ByUpdate {
		newest := int64(0)
		for i := range files {
			newest = max(newest, files[i].CreatedMillis)
		}
		return time.UnixMilli(newest), nil
	}
	return p.TimeOf(e.cfg.Schema, partition, e.cfg.Now().Location())
}

// TimeOf returns the time that the values of a partition stand for, in a zone.
func (p *PartitionPolicy) TimeOf(s *table.Schema, partition string, zone *time.Location) (time.Time, error) {
	named := s
	if slices.Contains(p.dateColumn, true) { // whatever partition.legacy-name makes of the path
		named = s.Clone()
		named.Options["partition.legacy-name"] = "false"
	}
	values, err := table.PartitionValues(named, partition)
	if err != nil {
		return time.Time{}, err
	}
	text := values[0]
	if p.Pattern != "" {
		text = p.Pattern
		order := make([]int, len(values))
		for i := range order {
			order[i] = i
		}
		slices.SortFunc(order, func(a, b int) int { return len(s.PartitionKeys[b]) - len(s.PartitionKeys[a]) }) // $dth before $dt
		for _, i := range order {
			text = strings.ReplaceAll(text, "$"+s.PartitionKeys[i], values[i])
		}
	}
	return p.parse(text, zone)
}

// defaultLayouts are those of org.apache.paimon.partition.PartitionTimeExtractor without a formatter.
var defaultLayouts = []string{"2006-1-2 15:4:5", "2006-1-2"}

func (p *PartitionPolicy) parse(text string, zone *time.Location) (time.Time, error) {
	layouts := defaultLayouts
	if p.Layout != "" {
		layouts = []string{p.Layout}
	}
	for _, layout := range layouts {
		if t, err := time.ParseInLocation(layout, text, zone); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is no time of the form %s", text, strings.Join(layouts, " or "))
}

// javaLetters are the letters of java.time.format.DateTimeFormatter as Go spells them.
var javaLetters = map[string]string{
	"yyyy": "2006", "uuuu": "2006", "yy": "06", "MM": "01", "M": "1", "MMM": "Jan", "dd": "02", "d": "2", "HH": "15", "H": "15",
	"hh": "03", "h": "3", "mm": "04", "m": "4", "ss": "05", "s": "5", "a": "PM",
	"SSS": "000", "SSSSSS": "000000", "SSSSSSSSS": "000000000",
}

// goLayout turns a pattern of java.time.format.DateTimeFormatter into a layout of Go.
func goLayout(pattern string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(pattern); {
		c := pattern[i]
		switch {
		case c == '\'':
			end := strings.IndexByte(pattern[i+1:], '\'')
			if end < 0 {
				return "", fmt.Errorf("%q has a quote without an end", pattern)
			}
			if end == 0 {
				b.WriteByte('\'')
			}
			b.WriteString(pattern[i+1 : i+1+end])
			i += end + 2
		case 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z':
			n := 1
			for i+n < len(pattern) && pattern[i+n] == c {
				n++
			}
			word, ok := javaLetters[pattern[i:i+n]]
			if !ok {
				return "", fmt.Errorf("%q: the letters %q are not understood", pattern, pattern[i:i+n])
			}
			b.WriteString(word)
			i += n
		default:
			b.WriteByte(c)
			i++
		}
	}
	return b.String(), nil
}
