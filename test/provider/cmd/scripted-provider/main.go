// Command scripted-provider runs the scripted provider of models by hand:
//
//	go run ./test/provider/cmd/scripted-provider --port 8090 --key sk-demo --seed 1
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/looptrace/looptrace/test/provider"
)

func main() {
	port := flag.Int("port", 0, "port of 127.0.0.1 to listen on; 0 takes a free one")
	key := flag.String("key", "sk-scripted", "the key that is accepted")
	seed := flag.Uint64("seed", 0, "decides what varies between answers")
	flag.Parse()
	if err := run(*port, provider.Options{Key: *key, Seed: *seed}); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "scripted-provider:", err)
		os.Exit(1)
	}
}

func run(port int, options provider.Options) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	server, err := provider.Listen(ctx, net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), options)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(os.Stdout, "OpenAI: %s/v1, Anthropic: %s, key: %s\n", server.URL, server.URL, server.Key)
	<-ctx.Done()
	return server.Close()
}
