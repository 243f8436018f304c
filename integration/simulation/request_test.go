//go:build synctests

package simulation

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// requestEffect is what goes wrong with a request.
type requestEffect int

const (
	cutBefore    requestEffect = iota // the connection breaks, and the broker has not heard
	cutAfter                          // the broker has done it; the answer is lost with the connection
	errorInstead                      // the broker has not done it, and says so
	errorAfter                        // the broker has done it, and says that it has not
	crashBefore                       // the process dies, and the broker has not heard
	crashAfter                        // the broker has done it; the process dies before it knows
)

func (e requestEffect) String() string {
	return []string{"cut before", "cut after", "error instead", "error after", "crash before", "crash after"}[e]
}

// crashes reports whether the process ends with the request.
func (e requestEffect) crashes() bool { return e == crashBefore || e == crashAfter }

// requestFault has one request go wrong.
type requestFault struct {
	key    int16
	nth    int // counted from 1
	effect requestEffect
	code   *kerr.Error // that is answered
	refuse func()      // has the brokers answer the next request of the kind with it

	seen    int
	fired   bool
	version int16
	id      int32 // that the answer has, too
}

// crashed reports whether the process has died of it.
func (f *requestFault) crashed() bool { return f.fired && f.effect.crashes() }

// picks returns the planned fault if the bytes begin the request that it is about.
func (l *line) picks(p []byte) *requestFault {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.plan
	if f == nil || f.fired || len(p) < 12 || int16(binary.BigEndian.Uint16(p[4:])) != f.key {
		return nil
	}
	if f.seen++; f.seen != f.nth {
		return nil
	}
	f.fired, f.version, f.id = true, int16(binary.BigEndian.Uint16(p[6:])), int32(binary.BigEndian.Uint32(p[8:]))
	return f
}

// read is Read of the connection below, or of an answer in which an error was put.
func (c *conn) read(p []byte) (int, error) {
	if !c.framed {
		return c.Conn.Read(p)
	}
	if len(c.answer) == 0 {
		frame := make([]byte, 4)
		if _, err := io.ReadFull(c.Conn, frame); err != nil {
			return 0, err
		}
		body := make([]byte, binary.BigEndian.Uint32(frame))
		if _, err := io.ReadFull(c.Conn, body); err != nil {
			return 0, err
		}
		c.mu.Lock()
		fault := c.awaits
		c.mu.Unlock()
		if fault != nil && int32(binary.BigEndian.Uint32(body)) == fault.id {
			body = fault.spoil(body)
			binary.BigEndian.PutUint32(frame, uint32(len(body)))
		}
		c.answer = append(frame, body...)
	}
	n := copy(p, c.answer)
	c.answer = c.answer[n:]
	return n, nil
}

// spoil puts the error into an answer.
func (f *requestFault) spoil(body []byte) []byte {
	resp := kmsg.ResponseForKey(f.key)
	resp.SetVersion(f.version)
	head := 4 // the id, and no tags in a newer one
	if resp.IsFlexible() {
		head++
	}
	if err := resp.ReadFrom(body[head:]); err != nil {
		panic(fmt.Sprintf("answer to %s: %v", kmsg.NameForKey(f.key), err))
	}
	switch r := resp.(type) {
	case *kmsg.JoinGroupResponse:
		r.ErrorCode = f.code.Code
	case *kmsg.SyncGroupResponse:
		r.ErrorCode = f.code.Code
	case *kmsg.HeartbeatResponse:
		r.ErrorCode = f.code.Code
	case *kmsg.LeaveGroupResponse:
		r.ErrorCode = f.code.Code
	case *kmsg.ConsumerGroupHeartbeatResponse:
		r.ErrorCode = f.code.Code
	case *kmsg.OffsetCommitResponse:
		for i := range r.Topics {
			for k := range r.Topics[i].Partitions {
				r.Topics[i].Partitions[k].ErrorCode = f.code.Code
			}
		}
	case *kmsg.ProduceResponse:
		for i := range r.Topics {
			for k := range r.Topics[i].Partitions {
				r.Topics[i].Partitions[k].ErrorCode = f.code.Code
			}
		}
	default:
		panic("no error is put into " + kmsg.NameForKey(f.key))
	}
	return resp.AppendTo(body[:head:head])
}
