//go:build unix

package registry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"
)

// Types of calls, and outcomes, as histories have them (traces/README.md).
const (
	register = "register"
	latest   = "latest"
	byID     = "by-id"

	answered = "ok"
	unknown  = "unknown"
)

// call is what a client asked of a registry, when, and what it was answered, if it was.
// Times are nanoseconds since the run began.
type call struct {
	Type    string `json:"type"`
	Client  int    `json:"client"`
	Call    int64  `json:"call"`
	Return  int64  `json:"return"`
	Outcome string `json:"outcome"`
	Subject string `json:"subject,omitempty"`
	Schema  string `json:"schema,omitempty"`
	ID      int    `json:"id,omitempty"`
	Version int    `json:"version,omitempty"`
}

// answer is what a registry answers, as far as it is kept.
type answer struct {
	ID      int
	Version int
	Schema  string
}

// ask has a client call a registry, and keeps when. The status is 0 if there was no answer.
func (f *fleet) ask(c *http.Client, op *call, url string, body []byte) (a answer, status int) {
	op.Call = int64(time.Since(f.began))
	var resp *http.Response
	var err error
	if body != nil {
		resp, err = c.Post(url, "application/json", bytes.NewReader(body))
	} else {
		resp, err = c.Get(url)
	}
	if err == nil {
		status = resp.StatusCode
		err = json.NewDecoder(resp.Body).Decode(&a)
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	op.Return, op.Outcome = int64(time.Since(f.began)), unknown
	if err != nil {
		return answer{}, 0
	}
	return a, status
}

func (f *fleet) keep(op call) {
	f.mu.Lock()
	f.history = append(f.history, op)
	f.mu.Unlock()
}

// write registers schemas with whatever process answers, two versions of each subject, until
// a context ends, and counts those that were acknowledged. After some of them it reads its
// subject, and the id that it was told, where it wrote: a registry promises that who wrote
// reads what it wrote there, and who writes a subject is alone.
func (f *fleet) write(ctx context.Context, client int, acknowledged *atomic.Int64) {
	c := &http.Client{Timeout: 2 * time.Second}
	for k := 0; ctx.Err() == nil; k++ {
		f.mu.Lock()
		url := f.urls[(client+k/50)%len(f.urls)]
		f.mu.Unlock()
		symbols := []string{`"A"`, `"A","B"`}[k%2]
		op := call{Type: register, Client: client, Subject: fmt.Sprintf("s-%d-%d", client, k/2), Schema: fmt.Sprintf(`{"type":"enum","name":"e%d_%d","symbols":[%s]}`, client, k/2, symbols)}
		body, err := json.Marshal(map[string]string{"schema": op.Schema})
		require.NoError(f.t, err)
		a, status := f.ask(c, &op, url+"/subjects/"+op.Subject+"/versions", body)
		if status == http.StatusOK {
			op.ID, op.Outcome = a.ID, answered
			acknowledged.Add(1)
		}
		f.keep(op)
		switch {
		case status == 0:
			time.Sleep(5 * time.Millisecond) // it is down, or stands still
		case op.Outcome == answered && k%4 < 2:
			f.read(c, call{Type: latest, Client: client, Subject: op.Subject}, url+"/subjects/"+op.Subject+"/versions/latest")
			f.read(c, call{Type: byID, Client: client, ID: op.ID}, fmt.Sprint(url, "/schemas/ids/", op.ID))
		}
	}
}

func (f *fleet) read(c *http.Client, op call, url string) {
	a, status := f.ask(c, &op, url, nil)
	switch {
	case status == http.StatusOK && op.Type == latest:
		op.Outcome, op.Schema, op.ID, op.Version = answered, a.Schema, a.ID, a.Version
	case status == http.StatusOK:
		op.Outcome, op.Schema = answered, a.Schema
	case status == http.StatusNotFound:
		op.Outcome = answered // there is none
	}
	f.keep(op)
}

// save writes the history as `quorate history check` reads it.
func (f *fleet) save(to string) {
	file, err := os.Create(to)
	require.NoError(f.t, err)
	lines := json.NewEncoder(file)
	require.NoError(f.t, lines.Encode(map[string]any{"v": 1, "type": "history", "object": "registry", "run": "three registries that are killed", "clock": "ns"}))
	for _, op := range f.history {
		require.NoError(f.t, lines.Encode(op))
	}
	require.NoError(f.t, file.Close())
}
