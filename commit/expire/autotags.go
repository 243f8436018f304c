package expire

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"sink/table"
	"sink/table/manifest"
)

// TagPolicy says when tags come by themselves. It comes from Paimon's table options tag.*
// (org.apache.paimon.tag.TagAutoCreation, TagPeriodHandler).
type TagPolicy struct {
	Period   time.Duration // of one tag each; 0: none is made
	Delay    time.Duration // tag.creation-delay: after the end of the period
	Max      int           // tag.num-retained-max: how many of them stay; 0: all
	Retained time.Duration // tag.default-time-retained; 0: until they are deleted
	Complete bool          // tag.automatic-completion: periods without a snapshot get a tag, too

	byWatermark bool // time is the snapshot's watermark, not when it was made
	zone        *time.Location
	layout      string // of the name
}

// TagPolicyOf returns what a schema's table options ask for. Mode batch is for jobs that end: there is nothing to do for it.
func TagPolicyOf(s *table.Schema) (TagPolicy, error) {
	var p TagPolicy
	var problems []error
	word := func(key, otherwise string) string {
		if v := s.Options[key]; v != "" {
			return strings.ReplaceAll(strings.ToLower(v), "_", "-")
		}
		return otherwise
	}
	refuse := func(key, want string) {
		problems = append(problems, fmt.Errorf("option %s is %q, want %s", key, s.Options[key], want))
	}
	switch mode := word("tag.automatic-creation", "none"); mode {
	case "none", "batch":
		return p, nil
	case "process-time":
	case "watermark":
		p.byWatermark = true
	default:
		refuse("tag.automatic-creation", "none, process-time, watermark or batch")
	}
	formatter := word("tag.period-formatter", "with-dashes")
	layouts := map[string][2]string{ // of a day, of an hour
		"with-dashes": {"2006-01-02", "2006-01-02 15"}, "without-dashes": {"20060102", "20060102 15"}, "without-dashes-and-spaces": {"20060102", "2006010215"},
	}[formatter]
	if layouts[0] == "" {
		refuse("tag.period-formatter", "with_dashes, without_dashes or without_dashes_and_spaces")
	}
	switch word("tag.creation-period", "daily") {
	case "daily":
		p.Period, p.layout = 24*time.Hour, layouts[0]
	case "hourly":
		p.Period, p.layout = time.Hour, layouts[1]
	case "two-hours":
		p.Period, p.layout = 2*time.Hour, "2006-01-02 15"
	default:
		refuse("tag.creation-period", "daily, hourly or two-hours")
	}
	problems = append(problems, p.spans(s), p.rest(s))
	return p, errors.Join(problems...)
}

// spans reads the options that are durations.
func (p *TagPolicy) spans(s *table.Schema) error {
	var problems []error
	for key, dst := range map[string]*time.Duration{
		"tag.creation-period-duration": &p.Period, "tag.creation-delay": &p.Delay, "tag.default-time-retained": &p.Retained,
	} {
		v := s.Options[key]
		if v == "" {
			continue
		}
		d, err := table.ParseDuration(v)
		if err != nil {
			problems = append(problems, fmt.Errorf("option %s: %w", key, err))
			continue
		}
		*dst = d
		if dst == &p.Period {
			p.layout = "200601021504"
		}
	}
	if p.Period > 0 && p.Delay >= p.Period {
		problems = append(problems, fmt.Errorf("option tag.creation-delay is %s, as long as a period or longer", p.Delay))
	}
	return errors.Join(problems...)
}

// rest reads the other options.
func (p *TagPolicy) rest(s *table.Schema) error {
	var problems []error
	if v := s.Options["tag.num-retained-max"]; v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 {
			problems = append(problems, fmt.Errorf("option tag.num-retained-max is %q, want a number above 0", v))
		}
		p.Max = n
	}
	p.Complete = strings.EqualFold(s.Options["tag.automatic-completion"], "true")
	if p.byWatermark {
		name := s.Options["sink.watermark-time-zone"]
		zone, err := time.LoadLocation(name)
		if err != nil {
			problems = append(problems, fmt.Errorf("option sink.watermark-time-zone: %w", err))
		}
		p.zone = zone
	}
	return errors.Join(problems...)
}

// A period is told by the clock of its zone: times here carry the clock's digits, in UTC.

// timeOf returns when a snapshot is; false for one without a watermark where that decides.
func (p *TagPolicy) timeOf(s *manifest.Snapshot, zone *time.Location) (time.Time, bool) {
	ms := s.TimeMillis
	if p.byWatermark {
		if s.Watermark == nil {
			return time.Time{}, false
		}
		ms, zone = *s.Watermark, p.zone
	}
	t := time.UnixMilli(ms).In(zone)
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC), true
}

// previous returns the begin of the period before the one that a time is in.
func (p *TagPolicy) previous(t time.Time) time.Time {
	period := p.Period.Milliseconds()
	return time.UnixMilli(t.UnixMilli() / period * period).UTC().Add(-p.Period)
}

// period returns which period the name of a tag tells; false for one that someone else has made.
func (p *TagPolicy) period(name string) (time.Time, bool) {
	if p.Period == 24*time.Hour {
		name, _, _ = strings.Cut(name, " ")
	}
	t, err := time.Parse(p.layout, name)
	return t, err == nil
}

// autoTags is how far the making of tags is.
type autoTags struct {
	known    bool
	next     time.Time // the period of the next tag; zero: no tag yet
	snapshot int64     // the next to look at
}

// AutoTags makes the tags that are due by the table's options, each of the first snapshot after its period and the delay, and
// deletes those beyond the number that stays. It returns the names of what it made.
func (e *Expirer) AutoTags(ctx context.Context) (made []string, r Result, err error) {
	p, err := TagPolicyOf(e.cfg.Schema)
	if err != nil || p.Period <= 0 || e.cfg.DryRun {
		return nil, r, e.wrap(err)
	}
	made, err = e.autoTag(ctx, &p)
	if err == nil && len(made) > 0 && p.Max > 0 {
		r, err = e.oldTags(ctx, &p)
	}
	return made, r, e.wrap(err)
}

// autoTag walks through the snapshots since the last tag.
func (e *Expirer) autoTag(ctx context.Context, p *TagPolicy) (made []string, err error) {
	if err := e.findAutoTags(ctx, p); err != nil {
		return nil, err
	}
	for {
		s, err := manifest.ReadSnapshot(ctx, e.store, e.path, e.auto.snapshot)
		if errors.Is(err, fs.ErrNotExist) {
			first, ok, err := manifest.Earliest(ctx, e.store, e.path)
			if err == nil && ok && first > e.auto.snapshot { // they expired before anyone looked
				e.auto.snapshot = first
				continue
			}
			return made, err
		}
		if err != nil {
			return made, err
		}
		name, next, due := p.due(s, e.auto.next, e.cfg.Now().Location())
		if due {
			switch err := e.putTag(ctx, &manifest.Tag{Name: name, Snapshot: s, Created: e.cfg.Now(), Retained: p.Retained}); {
			case err == nil:
				made = append(made, name)
			case errors.Is(err, fs.ErrNotExist): // it expired just now: the next snapshot may do
				e.auto.snapshot++
				continue
			case !errors.Is(err, fs.ErrExist): // else another instance has made it
				return made, err
			}
			e.auto.next = next
		}
		e.auto.snapshot++
	}
}

// due tells whether a snapshot becomes a tag, its name, and the period after it.
func (p *TagPolicy) due(s *manifest.Snapshot, next time.Time, zone *time.Location) (name string, after time.Time, due bool) {
	t, ok := p.timeOf(s, zone)
	if !ok || !next.IsZero() && t.Add(-p.Delay).Before(next.Add(p.Period)) {
		return "", next, false
	}
	this := p.previous(t)
	if p.Complete && !next.IsZero() {
		this = next
	}
	return this.Format(p.layout), this.Add(p.Period), true
}

// findAutoTags finds the last tag that was made by itself, by whomever.
func (e *Expirer) findAutoTags(ctx context.Context, p *TagPolicy) error {
	if e.auto.known {
		return nil
	}
	tags, err := e.tags(ctx)
	if err != nil {
		return err
	}
	first, _, err := manifest.Earliest(ctx, e.store, e.path)
	if err != nil {
		return err
	}
	e.auto = autoTags{known: true, snapshot: max(first, 1)}
	for _, t := range tags {
		if at, ok := p.period(t.Name); ok {
			e.auto.next, e.auto.snapshot = at.Add(p.Period), t.Snapshot.ID+1
		}
	}
	return nil
}

// oldTags deletes the oldest of the tags that came by themselves, beyond the number that stays.
func (e *Expirer) oldTags(ctx context.Context, p *TagPolicy) (Result, error) {
	var all Result
	tags, err := e.tags(ctx)
	if err != nil {
		return all, err
	}
	var auto []*manifest.Tag
	for _, t := range tags {
		if _, ok := p.period(t.Name); ok {
			auto = append(auto, t)
		}
	}
	for len(auto) > p.Max {
		r, err := e.deleteTag(ctx, auto[0])
		if err != nil {
			return all, err
		}
		all.Add(r)
		auto = auto[1:]
	}
	return all, nil
}
