package broker

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestLoginIsAskedFor(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "queue")
	b := run(t, testConfig(dir))
	createTopic(t, connect(t, b.Addr()), 1)

	for name, options := range map[string][]kgo.Opt{
		"no login":         nil,
		"a wrong password": {Login("wrong").Option()},
	} {
		t.Run(name, func(t *testing.T) {
			client, err := kgo.NewClient(append(options, kgo.SeedBrokers(b.Addr()), kgo.RetryTimeout(time.Second), kgo.RecordDeliveryTimeout(2*time.Second))...)
			require.NoError(t, err)
			defer client.Close()
			ctx, cancel := context.WithTimeout(t.Context(), waitFor)
			defer cancel()
			require.Error(t, client.Ping(ctx))
			require.Error(t, client.ProduceSync(ctx, &kgo.Record{Topic: topic, Value: []byte("forged")}).FirstErr())
		})
	}
	client := connect(t, b.Addr())
	require.NoError(t, client.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Value: []byte("genuine")}).FirstErr())
}

func TestPasswordMayChange(t *testing.T) {
	t.Parallel()
	config := testConfig(filepath.Join(t.TempDir(), "queue"))
	b, err := Start(config, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	createTopic(t, connect(t, b.Addr()), 1)
	stop(t, b)

	config = testConfig(config.DataDir)
	config.Password = "another one"
	b = run(t, config)
	client, err := kgo.NewClient(kgo.SeedBrokers(b.Addr()), Login(config.Password).Option())
	require.NoError(t, err)
	defer client.Close()
	require.NoError(t, client.Ping(t.Context()))
}

// A broker that fails at one of these ends the test's process.
func TestGarbageIsRefused(t *testing.T) {
	t.Parallel()
	b := run(t, testConfig(filepath.Join(t.TempDir(), "queue")))
	request := func(size uint32, key, version int16, rest string) string {
		head := binary.BigEndian.AppendUint32(nil, size)
		head = binary.BigEndian.AppendUint16(head, uint16(key))
		return string(binary.BigEndian.AppendUint16(head, uint16(version))) + rest
	}
	whole := func(key, version int16, rest string) string { return request(uint32(4+len(rest)), key, version, rest) }
	kinds := map[string]string{
		"HTTP":                   "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"TLS":                    "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
		"4 GiB":                  "\xff\xff\xff\xff" + strings.Repeat("\xff", 100),
		"a negative number":      whole(-1, 0, strings.Repeat("\x00", 20)),
		"an unknown number":      whole(9999, 0, strings.Repeat("\x00", 20)),
		"nothing in it":          request(0, 0, 0, ""),
		"a request before login": whole(kmsg.Metadata.Int16(), 0, strings.Repeat("\x00", 20)),
		"a large one before it":  request(1<<20, kmsg.ApiVersions.Int16(), 0, strings.Repeat("\x00", 1<<16)),
		"an unknown version":     whole(kmsg.ApiVersions.Int16(), 999, strings.Repeat("\xff", 20)),
		"billions of tags":       whole(kmsg.ApiVersions.Int16(), 3, "\x00\x00\x00\x01\xff\xff\xff\xff\xff\xff\x0f"),
		"tags after the end":     whole(kmsg.ApiVersions.Int16(), 3, "\x00\x00\x00\x01\xff\xff\x00\x02a\x02b\xff\xff\xff\xff\x0f"),
		"a login out of turn":    whole(kmsg.SASLAuthenticate.Int16(), 0, "\x00\x00\x00\x01\xff\xff\x00\x00\x00\x02ab"),
	}
	for name, sent := range kinds {
		t.Run(name, func(t *testing.T) {
			for _, whole := range []bool{true, false} {
				client, err := net.Dial("tcp", b.Addr())
				require.NoError(t, err)
				defer client.Close()
				if whole {
					_, err = io.WriteString(client, sent)
				} else {
					for i := 0; i < min(len(sent), 40) && err == nil; i++ { // byte after byte
						_, err = io.WriteString(client, sent[i:i+1])
					}
				}
				if err != nil { // it was refused before its end
					assert.True(t, errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET), "%v", err)
				}
				_ = client.(*net.TCPConn).CloseWrite()
				require.NoError(t, client.SetReadDeadline(time.Now().Add(loginTime/2)))
				answer, err := io.ReadAll(client)
				if err != nil {
					require.ErrorIs(t, err, syscall.ECONNRESET) // the rest was not read
				}
				assert.Less(t, len(answer), 2<<10, "at most the list of what it knows")
			}
		})
	}
	require.NoError(t, connect(t, b.Addr()).Ping(t.Context()))
}

func TestSilentClientsAreLetGo(t *testing.T) {
	t.Parallel()
	b := run(t, testConfig(filepath.Join(t.TempDir(), "queue")))
	client, err := net.Dial("tcp", b.Addr())
	require.NoError(t, err)
	defer client.Close()
	require.NoError(t, client.SetReadDeadline(time.Now().Add(2*loginTime)))
	_, err = client.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
}
