package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"sink/config"
	"sink/connector"
	"sink/debezium"
	"sink/table/object"
)

// reachWithin bounds each first contact.
const reachWithin = 15 * time.Second

// The results of a check.
const (
	checkOK   = "ok"
	checkNote = "note" // run would start, but look at this
	checkFail = "fail" // run would not start, or a table would stop
)

// checker looks at everything that a configuration names and says what it finds.
type checker struct {
	cfg      *config.Config
	settings connector.Config
	store    object.Store // nil when it cannot be used
	client   *kgo.Client  // nil when the brokers do not answer
	admin    *kadm.Client
	details  kadm.TopicDetails    // of all topics
	group    kadm.OffsetResponses // what the group has committed
	out      *printer
	failures []error
}

func (a *app) checkCommand() *cobra.Command {
	var (
		file   string
		format outputFormat
	)
	cmd := a.command(&cobra.Command{
		Use:   "check",
		Short: "Check the configuration and all that it names",
		Long: `Check the configuration file, then reach what it names: the store, where two creates of one object race, for commits rest on that
exactly one wins; the brokers; each mapping's topics, whose first record is looked at, and its table; the registry, which only Avro
needs. It says what run would do, changes nothing but an object below _sink-probe/ that it removes again, and exits with 0 when run
would start and no table would stop at once.`,
		Example: "  sink check -c sink.yaml\n  sink check -c sink.yaml -o json",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := loadConfig(file)
			if err != nil {
				return err
			}
			c := &checker{cfg: cfg, out: newPrinter(a.stdout, format, "result", "what", "detail")}
			return c.run(cmd.Context(), a)
		},
	})
	addConfigFlag(cmd, &file)
	format.addTo(cmd)
	return cmd
}

func (c *checker) run(ctx context.Context, a *app) error {
	log := newLogger(a.stderr, config.Log{Level: "error", Format: c.cfg.Log.Format})
	var err error
	if c.settings, err = connectorConfig(c.cfg, log); err != nil {
		return err
	}
	c.say(checkOK, "configuration", "%s: %s", c.cfg.File(), plural(len(c.cfg.Tables), "mapping"))
	c.checkStore(ctx)
	c.checkKafka(ctx)
	if c.client != nil {
		defer c.client.Close()
	}
	c.checkMappings(ctx)
	c.checkRegistry(ctx)
	if err := errors.Join(ctx.Err(), c.out.close()); err != nil {
		return err
	}
	return errors.Join(c.failures...)
}

// say prints one finding.
func (c *checker) say(result, what, format string, args ...any) {
	detail := strings.TrimPrefix(strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", "; "), what+": ")
	if result == checkFail {
		c.failures = append(c.failures, fmt.Errorf("%s: %s", what, detail))
	}
	c.out.row(result, what, detail)
}

func (c *checker) checkStore(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*reachWithin)
	defer cancel()
	store, err := object.Open(ctx, c.cfg.Warehouse, s3Config(c.cfg.S3))
	if err != nil {
		c.say(checkFail, "store", "%v", err)
		return
	}
	switch err := object.Probe(ctx, store); {
	case errors.Is(err, object.ErrNoConditionalCreate) && c.cfg.SingleWriter:
		c.say(checkNote, "store", "%s has no conditional create (If-None-Match); single-writer says that nobody else writes the tables", c.cfg.Warehouse)
	case errors.Is(err, object.ErrNoConditionalCreate):
		c.say(checkFail, "store", "%s: %v (If-None-Match): use a store that has it, or set `single-writer: true` if no other process ever writes these tables", c.cfg.Warehouse, err)
	case err != nil:
		c.say(checkFail, "store", "%v", unusable(c.cfg, err))
		return
	default:
		c.say(checkOK, "store", "%s can be written and read, and of two creates of one name one wins", c.cfg.Warehouse)
	}
	c.store = store
}

func (c *checker) checkKafka(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, reachWithin)
	defer cancel()
	opts := append(reachOptions(c.cfg), c.settings.Kafka...)
	client, err := kgo.NewClient(opts...)
	if err != nil {
		c.say(checkFail, "kafka", "%v", err)
		return
	}
	admin := kadm.NewClient(client)
	brokers, err := admin.ListBrokers(ctx)
	if err != nil {
		client.Close()
		c.say(checkFail, "kafka", "%v", connector.KafkaError(c.cfg.Kafka.Brokers, reachWithin, err))
		return
	}
	c.client, c.admin = client, admin
	c.say(checkOK, "kafka", "%s", plural(len(brokers), "broker"))
	c.checkGroup(ctx)
}

// reachOptions let a first contact fail soon: each seed is tried, and once more.
func reachOptions(cfg *config.Config) []kgo.Opt {
	return []kgo.Opt{kgo.RetryTimeout(reachWithin), kgo.RequestRetries(len(cfg.Kafka.Brokers) + 1)}
}

// checkGroup sees that the consumer group is not another program's.
func (c *checker) checkGroup(ctx context.Context) {
	groups, err := c.admin.DescribeGroups(ctx, c.cfg.Kafka.Group)
	if err == nil {
		err = groups.Error()
	}
	g := groups[c.cfg.Kafka.Group]
	switch {
	case errors.Is(err, kerr.GroupIDNotFound), err == nil && (g.State == "Dead" || g.State == ""):
		c.say(checkOK, "group", "%s is new", c.cfg.Kafka.Group)
	case errors.Is(err, kerr.CoordinatorNotAvailable):
		c.say(checkNote, "group", "%s cannot be described: the brokers have no coordinator for it now, as when no group has ever been; look again in a moment", c.cfg.Kafka.Group)
	case errors.Is(err, kerr.GroupAuthorizationFailed):
		c.say(checkFail, "group", "%s: %v", c.cfg.Kafka.Group, connector.KafkaError(c.cfg.Kafka.Brokers, reachWithin, err))
	case err != nil:
		c.say(checkNote, "group", "%s cannot be described: %v", c.cfg.Kafka.Group, err)
	case g.ProtocolType != "" && g.ProtocolType != "consumer":
		c.say(checkFail, "group", "%s is used for %s: choose another kafka.group", c.cfg.Kafka.Group, g.ProtocolType)
	case len(g.Members) > 0:
		c.say(checkNote, "group", "%s has %s already: this one would share the work with them", c.cfg.Kafka.Group, plural(len(g.Members), "member"))
	default:
		c.say(checkOK, "group", "%s, no members", c.cfg.Kafka.Group)
	}
}

// checkRegistry sees that the registry answers. One that does not is a failure where records are Avro, by the mapping's word or by
// those that were looked at; run reads JSON without it.
func (c *checker) checkRegistry(ctx context.Context) {
	if c.cfg.Registry.URL == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, reachWithin)
	defer cancel()
	registry := c.settings.Tables[0].Decoding.Registry // all mappings share one client
	needed := registry.Asked()
	for i := range c.settings.Tables {
		needed = needed || c.settings.Tables[i].Decoding.Format == debezium.FormatAvro
	}
	switch err := registry.Ping(ctx); {
	case err == nil:
		c.say(checkOK, "registry", "%s answers", c.cfg.Registry.URL)
	case needed:
		c.say(checkFail, "registry", "%v", err)
	default:
		c.say(checkNote, "registry", "%v; no record that was looked at needs it", err)
	}
}

// plural counts things: "1 table", "2 tables".
func plural[N int | int64](n N, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return humanCount(int64(n)) + " " + what + "s"
}
