package upgrade

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/test/agent"
	"github.com/looptrace/looptrace/test/product"
	"github.com/looptrace/looptrace/test/provider"
)

// The provider of models has an address of its own: a connection keeps its API key only as long as its address. All of
// 127.0.0.0/8 is this machine, so that nobody else has the port there.
const modelAddress = "127.76.84.1:8431"

// Models of the provider, besides that of the agent. A judge says of a number whether it is even; so it is of some outputs only.
const (
	goodModel, badModel, slowModel = "good-model", "bad-model", "slow-model"
	judgeA, judgeB                 = "judge-a", "judge-b"
)

// listen starts a provider of models, which another test on this machine may be using.
func listen(t *testing.T, options provider.Options, address string) *provider.Server {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), settleTime)
	defer cancel()
	var server *provider.Server
	require.NoError(t, product.Wait(ctx, func(context.Context) (err error) {
		server, err = provider.Listen(t.Context(), address, options) //nolint:contextcheck // the test's, not the condition's
		return err
	}))
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	return server
}

// serveModels starts the provider of models.
func (w *writer) serveModels() {
	w.slow.shut()
	w.record.Provider = modelProvider{Address: modelAddress, Key: "sk-scripted-upgrade", Header: "X-Team", Value: "upgrades", Model: goodModel}
	w.models = listen(w.t, provider.Options{Key: w.record.Provider.Key, Answer: w.answer}, modelAddress)
}

// answer answers as the models do.
func (w *writer) answer(q *provider.Request) *provider.Reply {
	switch q.Model {
	case goodModel, badModel:
		return answerNumber(q)
	case slowModel:
		w.slow.wait()
		return answerNumber(q)
	case judgeA, judgeB:
		return vote(q)
	case agent.Model:
		if strings.Contains(q.Messages[0].Text, "Ask before") {
			return &provider.Reply{Text: "Shall I look up the numbers?"}
		}
		return agent.Answer(agentCalls, 0)(q)
	}
	return nil // listings, and names that mean something to the provider
}

// gate lets requests wait until it is opened.
type gate struct {
	mu     sync.Mutex
	opened chan struct{}
}

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.opened = make(chan struct{})
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.opened)
}

func (g *gate) wait() {
	g.mu.Lock()
	opened := g.opened
	g.mu.Unlock()
	<-opened
}

var number = regexp.MustCompile(`number (\d+)`)

// numberIn returns the number of a request's last message that has one, -1 without any.
func numberIn(q *provider.Request) int {
	n := -1
	for _, m := range q.Messages {
		if found := number.FindStringSubmatch(m.Text); m.Role == "user" && found != nil {
			n, _ = strconv.Atoi(found[1])
		}
	}
	return n
}

// answerNumber answers with the number that it was asked for; the bad model is wrong on multiples of three.
func answerNumber(q *provider.Request) *provider.Reply {
	n := numberIn(q)
	if q.Model == badModel && n%3 == 0 {
		return &provider.Reply{Text: "I do not know."}
	}
	return &provider.Reply{Text: strconv.Itoa(n)}
}

// vote judges by the number: one judge dislikes multiples of three, the other those of five. The first of two is better.
func vote(q *provider.Request) *provider.Reply {
	if strings.Contains(q.Messages[0].Text, "which of two outputs is better") {
		return &provider.Reply{Text: `{"reason": "It came first.", "value": "first"}`}
	}
	n, divisor, value := numberIn(q), 3, "pass"
	if q.Model == judgeB {
		divisor = 5
	}
	if n < 0 || n%divisor == 0 { // an output without a number is a canary
		value = "fail"
	}
	return &provider.Reply{Text: fmt.Sprintf(`{"reason": "The number is %d.", "value": %q}`, n, value)}
}
