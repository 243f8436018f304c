package expire

import (
	"errors"
	"strings"
	"time"

	"sink/table"
)

// Retention says how many snapshots, or changelogs, stay.
type Retention struct {
	Min, Max int64         // num-retained.min, num-retained.max
	Time     time.Duration // time-retained
}

// Policy says what stays of a table. It comes from Paimon's table options.
type Policy struct {
	Snapshots  Retention
	Changelogs Retention
	Limit      int64         // snapshot.expire.limit: how many go in one step
	Consumers  time.Duration // consumer.expiration-time: the age from which a consumer holds nothing; 0: none

	producesChangelog bool // changelog-producer is not none
}

// decoupled reports whether changelogs outlive their snapshots.
func (p *Policy) decoupled() bool {
	return p.Changelogs.Max > p.Snapshots.Max || p.Changelogs.Min > p.Snapshots.Min || p.Changelogs.Time > p.Snapshots.Time
}

// PolicyOf returns what a schema's table options ask for. It returns all that is wrong with them at once.
func PolicyOf(s *table.Schema) (Policy, error) {
	p := Policy{producesChangelog: !strings.EqualFold(s.Option("changelog-producer"), "none")}
	var problems []error
	number := func(key string, dst *int64) {
		n, err := s.OptionInt(key)
		*dst = n
		problems = append(problems, err)
	}
	span := func(key string, dst *time.Duration) {
		if s.Option(key) == "" {
			return
		}
		d, err := s.OptionDuration(key)
		*dst = d
		problems = append(problems, err)
	}
	number("snapshot.num-retained.min", &p.Snapshots.Min)
	number("snapshot.num-retained.max", &p.Snapshots.Max)
	span("snapshot.time-retained", &p.Snapshots.Time)
	number("changelog.num-retained.min", &p.Changelogs.Min)
	number("changelog.num-retained.max", &p.Changelogs.Max)
	span("changelog.time-retained", &p.Changelogs.Time)
	number("snapshot.expire.limit", &p.Limit)
	span("consumer.expiration-time", &p.Consumers)
	if err := errors.Join(problems...); err != nil {
		return p, err
	}
	return p, p.Check()
}

// Check tells whether the policy can be kept.
func (p *Policy) Check() error {
	switch {
	case p.Snapshots.Min < 1 || p.Changelogs.Min < 1:
		return errors.New("at least one snapshot has to stay: num-retained.min is below 1")
	case p.Snapshots.Min > p.Snapshots.Max:
		return errors.New("snapshot.num-retained.min is above snapshot.num-retained.max")
	case p.Changelogs.Min > p.Changelogs.Max:
		return errors.New("changelog.num-retained.min is above changelog.num-retained.max")
	case p.Limit < 1:
		return errors.New("snapshot.expire.limit is below 1")
	}
	return nil
}

// end returns the id before which ids from first to latest may go, by number, by limit, and by what readers hold.
func (r Retention) end(first, latest, held, limit int64) int64 {
	return min(latest-r.Min+1, held, first+limit)
}
