//go:build synctests

package simulation

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"time"
)

var errDown = errors.New("simulated: the machine is down")

// line is what connects one instance with the brokers and the store. It can be cut, for ever or for a moment, and held: then
// nothing gets through, and whoever waits goes on later as if nothing had happened (a process that was stopped, a switch that hangs).
type line struct {
	dialer func(context.Context, string, string) (net.Conn, error)
	// latency is what a request takes on its way; above 0, else a client that asks again at once would stop the clock.
	latency time.Duration

	mu    sync.Mutex
	dead  bool
	gate  chan struct{} // closed when open
	conns map[*conn]struct{}
	plan  *requestFault
}

func newLine(dialer func(context.Context, string, string) (net.Conn, error), latency time.Duration) *line {
	l := &line{dialer: dialer, latency: latency, gate: make(chan struct{}), conns: map[*conn]struct{}{}}
	close(l.gate)
	return l
}

// pass waits while the line is held.
func (l *line) pass(ctx context.Context) error {
	for {
		l.mu.Lock()
		gate, dead := l.gate, l.dead
		l.mu.Unlock()
		if dead {
			return errDown
		}
		select {
		case <-gate:
			l.mu.Lock()
			same := gate == l.gate
			l.mu.Unlock()
			if same {
				return nil
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// hold lets nothing through until release.
func (l *line) hold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.gate:
		l.gate = make(chan struct{})
	default:
	}
}

func (l *line) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.gate:
	default:
		close(l.gate)
	}
}

// kill lets nothing through ever again; the other side sees closed connections.
func (l *line) kill() {
	l.mu.Lock()
	l.dead = true
	l.mu.Unlock()
	l.release()
	l.cut()
}

// cut closes all connections; new ones may be made.
func (l *line) cut() {
	l.mu.Lock()
	conns := l.conns
	l.conns = map[*conn]struct{}{}
	l.mu.Unlock()
	for c := range conns {
		c.Close()
	}
}

func (l *line) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if err := l.pass(ctx); err != nil {
		return nil, refused(err)
	}
	inner, err := l.dialer(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: inner, line: l, framed: l.plan != nil && l.plan.effect == errorAfter}
	c.ctx, c.end = context.WithCancel(context.Background())
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead {
		inner.Close()
		return nil, refused(errDown)
	}
	l.conns[c] = struct{}{}
	return c, nil
}

// conn is a connection over a line.
type conn struct {
	net.Conn
	line *line
	ctx  context.Context // ends when the connection is closed
	end  context.CancelFunc

	mu     sync.Mutex
	awaits *requestFault // of the request whose answer is next, or of one behind it
	framed bool          // answers are read as a whole
	answer []byte        // what is left of one
}

func (c *conn) Read(p []byte) (int, error) {
	n, err := c.read(p)
	if err != nil {
		return n, broken(err)
	}
	if err := c.line.pass(c.ctx); err != nil {
		return 0, err
	}
	c.mu.Lock()
	fault := c.awaits
	c.mu.Unlock()
	if fault == nil || fault.effect == errorAfter {
		return n, nil
	}
	if fault.effect == crashAfter {
		c.line.kill()
	}
	c.Close()
	return 0, reset
}

func (c *conn) Write(p []byte) (int, error) {
	time.Sleep(c.line.latency)
	if err := c.line.pass(c.ctx); err != nil {
		return 0, reset
	}
	if fault := c.line.picks(p); fault != nil {
		switch fault.effect {
		case crashBefore, cutBefore:
			if fault.effect == crashBefore {
				c.line.kill()
			}
			c.Close()
			return 0, reset
		case errorInstead:
			fault.refuse()
		case cutAfter, crashAfter, errorAfter:
			c.mu.Lock()
			c.awaits = fault
			c.mu.Unlock()
		}
	}
	n, err := c.Conn.Write(p)
	return n, broken(err)
}

// reset is what a client sees of a connection that went away.
var reset = &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}

// refused gives a machine that is down the form of one that cannot be reached: the client waits before it tries such a one again.
func refused(err error) error {
	if errors.Is(err, errDown) {
		return &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	return err
}

// broken gives errors of pipes the form that those of sockets have.
func broken(err error) error {
	if errors.Is(err, io.ErrClosedPipe) || errors.Is(err, io.EOF) {
		return reset
	}
	return err
}

func (c *conn) Close() error {
	c.end()
	c.line.mu.Lock()
	delete(c.line.conns, c)
	c.line.mu.Unlock()
	return c.Conn.Close()
}
