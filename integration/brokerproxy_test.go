//go:build integration

package integration

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// brokerProxy stands before a Kafka broker. Answers that name brokers name the proxy instead, so that all of a client's
// requests come through it; each of its mischief is for one request, whose connection alone it cuts.
type brokerProxy struct {
	*mischief
	holds[int16] // by API key
	server       string
	listener     net.Listener
	lives        sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]struct{}
	shut  bool
}

// newBrokerProxy starts one before server; it ends with the test.
func newBrokerProxy(t testing.TB, server string, m *mischief) *brokerProxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &brokerProxy{mischief: m, server: server, listener: listener, conns: map[net.Conn]struct{}{}}
	p.lives.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

func (p *brokerProxy) address() string { return p.listener.Addr().String() }

// through is the part of a sink.yaml that reaches the broker through the proxy.
func (p *brokerProxy) through() config {
	return config{"kafka": config{"brokers": []string{p.address()}}}
}

func (p *brokerProxy) close() {
	p.listener.Close()
	p.mu.Lock()
	p.shut = true
	for c := range p.conns {
		c.Close()
	}
	p.mu.Unlock()
	p.lives.Wait()
}

// own has close close a connection, too; false when that is over already.
func (p *brokerProxy) own(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shut {
		c.Close()
		return false
	}
	p.conns[c] = struct{}{}
	return true
}

func (p *brokerProxy) drop(c net.Conn) {
	c.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
}

func (p *brokerProxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.lives.Go(func() { p.serve(client) })
	}
}

// asked is a request that waits for its answer.
type asked struct {
	key, version int16
	trick        trick
	delay        time.Duration
	hold         *hold
}

// serve carries one connection until either side, or a trick, ends it.
func (p *brokerProxy) serve(client net.Conn) {
	broker, err := net.Dial("tcp", p.server)
	if err != nil {
		client.Close()
		return
	}
	if !p.own(client) || !p.own(broker) {
		broker.Close()
		return
	}
	waiting := make(chan asked, 1000) // a broker answers in the order of requests
	p.lives.Go(func() {
		p.answers(client, broker, waiting)
		p.drop(client)
		p.drop(broker)
		for range waiting { // until requests ends
		}
	})
	p.requests(client, broker, waiting)
	close(waiting)
	p.drop(client)
	p.drop(broker)
}

func (p *brokerProxy) requests(client, broker net.Conn, waiting chan<- asked) {
	for {
		frame, err := readFrame(client)
		if err != nil || len(frame) < 12 {
			return
		}
		a := asked{key: int16(binary.BigEndian.Uint16(frame[4:])), version: int16(binary.BigEndian.Uint16(frame[6:]))}
		a.trick, a.delay = p.next()
		a.hold = p.take(a.key)
		if a.hold != nil && !a.hold.after {
			a.hold.wait()
		}
		switch a.trick {
		case cutBefore:
			return
		case cutWithin:
			broker.Write(frame[:len(frame)/2])
			return
		}
		waiting <- a
		if _, err := broker.Write(frame); err != nil {
			return
		}
	}
}

func (p *brokerProxy) answers(client, broker net.Conn, waiting <-chan asked) {
	for {
		frame, err := readFrame(broker)
		if err != nil {
			return
		}
		a, ok := <-waiting
		if !ok {
			return
		}
		if a.hold != nil && a.hold.after {
			a.hold.wait()
		}
		switch a.trick {
		case cutUnheard:
			return
		case delayed:
			time.Sleep(a.delay)
		}
		if frame, err = p.redirect(a, frame); err != nil {
			return
		}
		if a.trick == cutAnswer {
			client.Write(frame[:len(frame)/2])
			return
		}
		if _, err := client.Write(frame); err != nil {
			return
		}
	}
}

// readFrame reads a request or an answer, with its length in front.
func readFrame(c net.Conn) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(c, size[:]); err != nil {
		return nil, err
	}
	frame := make([]byte, 4+binary.BigEndian.Uint32(size[:]))
	copy(frame, size[:])
	_, err := io.ReadFull(c, frame[4:])
	return frame, err
}

// redirect puts the proxy's address in place of the broker's.
func (p *brokerProxy) redirect(a asked, frame []byte) ([]byte, error) {
	switch kmsg.Key(a.key) {
	case kmsg.Metadata, kmsg.FindCoordinator, kmsg.DescribeCluster:
	default:
		return frame, nil
	}
	request := kmsg.RequestForKey(a.key)
	request.SetVersion(a.version)
	response := request.ResponseKind()
	head := 8 // length and correlation id
	if request.IsFlexible() {
		head++ // no tagged fields
	}
	if err := response.ReadFrom(frame[head:]); err != nil {
		return nil, fmt.Errorf("read answer %d version %d: %w", a.key, a.version, err)
	}
	host, text, err := net.SplitHostPort(p.address())
	if err != nil {
		return nil, err
	}
	number, err := strconv.Atoi(text)
	if err != nil {
		return nil, err
	}
	port := int32(number)
	switch r := response.(type) {
	case *kmsg.MetadataResponse:
		for i := range r.Brokers {
			r.Brokers[i].Host, r.Brokers[i].Port = host, port
		}
	case *kmsg.DescribeClusterResponse:
		for i := range r.Brokers {
			r.Brokers[i].Host, r.Brokers[i].Port = host, port
		}
	case *kmsg.FindCoordinatorResponse:
		if r.Port > 0 {
			r.Host, r.Port = host, port
		}
		for i := range r.Coordinators {
			if c := &r.Coordinators[i]; c.Port > 0 {
				c.Host, c.Port = host, port
			}
		}
	}
	out := response.AppendTo(append([]byte(nil), frame[:head]...))
	binary.BigEndian.PutUint32(out, uint32(len(out)-4))
	return out, nil
}
