package connector

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"sink/table"
)

// clientOptions is how the sink consumes. What a user may set (seeds, TLS, SASL, fetch sizes, timeouts) comes first, in
// cfg.Kafka; what exactly once rests on comes last and cannot be overridden.
func (c *Connector) clientOptions() []kgo.Opt {
	opts := append([]kgo.Opt{}, c.cfg.Kafka...)
	opts = append(opts,
		kgo.ConsumerGroup(c.cfg.Group),
		kgo.DisableAutoCommit(),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.KeepControlRecords(), // so that positions move past transaction markers
		kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.BlockRebalanceOnPoll(),
		kgo.AdjustFetchOffsetsFn(c.adjust),
		kgo.OnPartitionsAssigned(c.assigned),
		kgo.OnPartitionsRevoked(c.revoked),
		kgo.OnPartitionsLost(c.lost),
		kgo.ProducerBatchMaxBytes(maxLetter),
		kgo.WithHooks(newDialPause()),
	)
	switch c.cfg.Protocol {
	case Consumer:
		opts = append(opts, kgo.ServerSideBalancer(), kgo.Balancers(kgo.StickyBalancer()))
	case Eager:
		opts = append(opts, kgo.Balancers(kgo.StickyBalancer()))
	default:
		opts = append(opts, kgo.Balancers(kgo.CooperativeStickyBalancer()))
	}
	topics, patterns := c.subscription()
	if patterns {
		opts = append(opts, kgo.ConsumeRegex())
	}
	return append(opts, kgo.ConsumeTopics(topics...))
}

// dialPause makes the client wait after a connection that was refused. The client does so itself before most of what it asks again, but
// not where it begins a group session of KIP-848 anew: there it would dial as fast as it can for as long as the coordinator is away.
type dialPause struct {
	client context.Context // ends when the client is closed
	end    context.CancelFunc
}

func newDialPause() *dialPause {
	client, end := context.WithCancel(context.Background())
	return &dialPause{client, end}
}

// refusedPause is short beside any time that brokers are away, and long beside what a dial costs.
const refusedPause = 100 * time.Millisecond

// OnBrokerConnect implements [kgo.HookBrokerConnect]. The client calls it before it tells of the failure.
func (p *dialPause) OnBrokerConnect(_ kgo.BrokerMetadata, _ time.Duration, _ net.Conn, err error) {
	if err == nil {
		return
	}
	select {
	case <-time.After(refusedPause):
	case <-p.client.Done():
	}
}

// OnClientClosed implements [kgo.HookClientClosed].
func (p *dialPause) OnClientClosed(*kgo.Client) { p.end() }

// subscription is what to subscribe to: exact names, or anchored patterns when any mapping has one.
func (c *Connector) subscription() (topics []string, patterns bool) {
	for _, t := range c.cfg.Tables {
		patterns = patterns || t.Pattern != nil || t.open()
	}
	for _, t := range c.cfg.Tables {
		if t.Pattern != nil {
			topics = append(topics, "^(?:"+t.Pattern.String()+")$")
		} else if t.open() {
			topics = append(topics, "^[^_].*$")
		}
		for _, name := range t.Topics {
			if patterns {
				name = "^" + regexp.QuoteMeta(name) + "$"
			}
			topics = append(topics, name)
		}
	}
	return topics, patterns
}

// logProblem returns an error where the log no longer holds what a table wants, the offset given, else nil. It stops the
// table: going on would lose records silently (I9).
func logProblem(tp table.TopicPartition, wanted int64, err error) error {
	if loss, ok := errors.AsType[*kgo.ErrDataLoss](err); ok {
		return fmt.Errorf("topic %s partition %d: the log was truncated: offset %d was read at leader epoch %d, but the log now ends at %d of epoch %d; "+
			"records that the table holds are gone from the topic: compare with the source, then run `sink offsets rebase`",
			tp.Topic, tp.Partition, loss.ConsumedTo, loss.ConsumedToEpoch, loss.ResetTo, loss.ResetToEpoch)
	}
	switch {
	case errors.Is(err, kerr.OffsetOutOfRange):
		return fmt.Errorf("topic %s partition %d: offset %d is wanted, but it is no longer in the log (retention, or the topic was made anew); "+
			"`sink offsets` shows where the log begins and ends, `sink offsets rebase` goes on without what is gone", tp.Topic, tp.Partition, wanted)
	case errors.Is(err, kerr.UnknownTopicID), errors.Is(err, kerr.InconsistentTopicID):
		return fmt.Errorf("topic %s partition %d: the topic was deleted and made anew while it was read; `sink offsets rebase` goes on with the new one", tp.Topic, tp.Partition)
	}
	return nil
}

// fatalKafka reports errors that no waiting mends.
func fatalKafka(err error) bool {
	for _, e := range []error{
		kerr.TopicAuthorizationFailed, kerr.GroupAuthorizationFailed, kerr.ClusterAuthorizationFailed, kerr.SaslAuthenticationFailed,
		kerr.UnsupportedSaslMechanism, kerr.IllegalSaslState, kerr.InconsistentGroupProtocol, kerr.InvalidGroupID, kerr.FencedInstanceID,
		kerr.InvalidSessionTimeout, kerr.UnsupportedVersion,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// KafkaError says what a user can do about what the brokers answer, or about brokers that do not answer when they are first
// asked, within the time that was given them.
func KafkaError(brokers []string, within time.Duration, err error) error {
	if fatalKafka(err) {
		return refusedBy(err)
	}
	out := certificateRemedy(err)
	if out == "" {
		out = "check kafka.brokers, kafka.tls and kafka.sasl, and that they are reachable from here"
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("nothing within %v", within)
	}
	return fmt.Errorf("kafka: no broker of %s answers: %w; %s", strings.Join(brokers, ", "), err, out)
}

// certificateRemedy says what a user can do about a certificate of the brokers that is not accepted; empty for any other error.
func certificateRemedy(err error) string {
	if _, unknown := errors.AsType[x509.UnknownAuthorityError](err); unknown {
		return "give the certificates of their authority in a file (kafka.tls.ca)"
	}
	if _, other := errors.AsType[x509.HostnameError](err); other {
		return "name them as their certificate does, in kafka.brokers or kafka.tls.server-name"
	}
	return ""
}

// refusedBy says what a user can do about a broker's refusal.
func refusedBy(err error) error {
	switch {
	case errors.Is(err, kerr.TopicAuthorizationFailed):
		return fmt.Errorf("kafka: no right to read a topic: %w; grant READ and DESCRIBE on the topics to this user", err)
	case errors.Is(err, kerr.GroupAuthorizationFailed):
		return fmt.Errorf("kafka: no right to use the group: %w; grant READ on the group to this user", err)
	case errors.Is(err, kerr.SaslAuthenticationFailed), errors.Is(err, kerr.UnsupportedSaslMechanism), errors.Is(err, kerr.IllegalSaslState):
		return fmt.Errorf("kafka: the brokers refuse the login: %w; check kafka.sasl (mechanism, username, password)", err)
	case errors.Is(err, kerr.InconsistentGroupProtocol):
		return fmt.Errorf("kafka: another member of the group uses another protocol: %w; all instances need the same kafka.group-protocol, and no other program may use this group", err)
	}
	return fmt.Errorf("kafka: %w", err)
}

// MissingTopic says why a topic that a mapping names is not among those of the brokers, which do not list what a user may
// not see.
func (c *Config) MissingTopic(ctx context.Context, admin *kadm.Client, topic string, there kadm.TopicDetails) error {
	details, err := admin.ListTopics(ctx, topic)
	if err = errors.Join(err, details[topic].Err); errors.Is(err, kerr.TopicAuthorizationFailed) {
		return refusedBy(kerr.TopicAuthorizationFailed)
	}
	nearest := ""
	if c.DidYouMean != nil {
		nearest = c.DidYouMean(topic, there.Names())
	}
	return fmt.Errorf("is not there: Debezium makes a topic with its first event; check the name, or start the sink later, or use `topics:` with a pattern, which may match later%s", nearest)
}
