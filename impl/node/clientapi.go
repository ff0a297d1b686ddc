package node

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"time"

	"github.com/quorate/quorate/impl/core"
)

// The client protocol is PROVISIONAL: it is there until appends and reads have a
// place in Kafka's protocol, has a listener of its own (client.listener), which
// should be on loopback as there is no authentication, and will go without notice.
//
// A request and a response are a line of JSON each, one after the other on a
// connection:
//
//	{"op":"append","value":"aGVsbG8="}  {"offset":7}
//	{"op":"read"}                       {"end":8,"offset":7,"value":"aGVsbG8="}
//	{"op":"values","from":0}            {"values":[{"offset":7,"value":"aGVsbG8="}]}
//	{"op":"state"}                      {"state":{"id":1,"role":"Leader", …}}
//
// Values are base64. An answer to an append or a read that failed has "error" (a
// name of Kafka's), "code" (its number), "leader" (-1: not known) and "unknown":
// true if the append may yet take effect. "values" is what this node has committed,
// some of it if there is much; it is not linearizable.

// maxLine bounds a line of the client protocol.
const maxLine = 2 << 20

// Request is a request of the provisional client protocol.
type Request struct {
	Op    string `json:"op"`
	Value []byte `json:"value,omitempty"`
	From  int64  `json:"from,omitempty"`
}

// Response is a response of the provisional client protocol.
type Response struct {
	Offset  int64         `json:"offset"`
	End     int64         `json:"end,omitempty"`
	Value   []byte        `json:"value,omitempty"`
	Values  []ClientValue `json:"values,omitempty"`
	State   *ClientState  `json:"state,omitempty"`
	Error   string        `json:"error,omitempty"`
	Code    int16         `json:"code,omitempty"`
	Unknown bool          `json:"unknown,omitempty"`
	Leader  int32         `json:"leader,omitempty"`
}

// ClientValue is a committed value.
type ClientValue struct {
	Offset int64  `json:"offset"`
	Value  []byte `json:"value"`
}

// ClientState is the state of a node.
type ClientState struct {
	ID            int32  `json:"id"`
	Incarnation   int32  `json:"incarnation"`
	Role          string `json:"role"`
	Epoch         int32  `json:"epoch"`
	Leader        int32  `json:"leader"`
	HighWatermark int64  `json:"highWatermark"`
	LogEnd        int64  `json:"logEnd"`
	Flushed       int64  `json:"flushed"`
	Applied       int64  `json:"applied"`
}

// serveClient answers the requests of a client's connection.
func (n *Node) serveClient(conn net.Conn) {
	defer conn.Close()
	r := bufio.NewReaderSize(conn, 64<<10)
	for {
		conn.SetReadDeadline(time.Now().Add(idleTimeout))
		line, err := readLine(r)
		if err != nil {
			return
		}
		var q Request
		var p Response
		d := json.NewDecoder(bytes.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&q); err != nil {
			p = Response{Error: "INVALID_REQUEST: " + err.Error(), Code: int16(core.InvalidRequest)}
		} else {
			p = n.answer(&q)
		}
		b, err := json.Marshal(&p)
		if err != nil {
			return
		}
		conn.SetWriteDeadline(time.Now().Add(writeTimeout))
		if _, err := conn.Write(append(b, '\n')); err != nil {
			return
		}
	}
}

var errLine = errors.New("line of the client protocol is too long")

func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > maxLine {
			return nil, errLine
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

func (n *Node) answer(q *Request) Response {
	switch q.Op {
	case "append":
		offset, _, err := n.Propose(n.ctx, [][]byte{q.Value})
		return answerOf(Response{Offset: offset}, err)
	case "read":
		end, err := n.Read(n.ctx)
		last := n.values.below(end)
		return answerOf(Response{End: end, Offset: last.Offset, Value: last.Value}, err)
	case "values":
		var p Response
		for _, v := range n.Values(q.From) {
			p.Values = append(p.Values, ClientValue(v))
		}
		return p
	case "state":
		s := n.State()
		return Response{State: &ClientState{
			ID: int32(s.ID), Incarnation: s.Incarnation, Role: s.Role.String(), Epoch: int32(s.Epoch), Leader: int32(s.Leader),
			HighWatermark: int64(s.HighWatermark), LogEnd: int64(s.LogEnd), Flushed: int64(s.Flushed), Applied: s.Applied,
		}}
	}
	return Response{Error: "INVALID_REQUEST: unknown op", Code: int16(core.InvalidRequest)}
}

func answerOf(ok Response, err error) Response {
	var failed *OpError
	if !errors.As(err, &failed) {
		return ok
	}
	return Response{Error: failed.Error(), Code: int16(failed.Code), Unknown: failed.Unknown, Leader: int32(failed.Leader)}
}

// Client speaks the provisional client protocol on one connection, one request at a
// time. After an error of the transport it is of no more use.
type Client struct {
	conn net.Conn
	r    *bufio.Reader
}

// DialClient connects to the client listener of a node.
func DialClient(ctx context.Context, addr string) (*Client, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return &Client{conn: conn, r: bufio.NewReaderSize(conn, 4<<10)}, nil
}

// Close closes the connection.
func (c *Client) Close() error { return c.conn.Close() }

// Do sends a request and waits for its response, until the context's deadline. After
// an error an append may or may not take effect.
func (c *Client) Do(ctx context.Context, q *Request) (*Response, error) {
	deadline, _ := ctx.Deadline() // the zero time: none
	c.conn.SetDeadline(deadline)
	stop := context.AfterFunc(ctx, func() { c.conn.SetDeadline(time.Now()) })
	defer stop()
	b, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	if _, err := c.conn.Write(append(b, '\n')); err != nil {
		return nil, err
	}
	line, err := c.r.ReadBytes('\n')
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	p := new(Response)
	if err := json.Unmarshal(line, p); err != nil {
		return nil, err
	}
	return p, nil
}

// Err is the failure that a response tells of, nil if none.
func (p *Response) Err() error {
	if p.Error == "" {
		return nil
	}
	return &OpError{Code: core.ErrorCode(p.Code), Unknown: p.Unknown, Leader: core.ReplicaID(p.Leader), Cause: errors.New(p.Error)}
}
