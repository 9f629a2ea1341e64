// Package ratelimit keeps token buckets that several replicas share through a log, and proves a bound on how far they
// can be overdrawn.
//
// # Buckets
//
// A subject (a key, a project or a user) has a bucket for each measure: requests, bytes, spans. A bucket has at most b
// tokens (the burst) and gains r tokens a second (the rate). A request is admitted if every bucket that it is charged to
// has more than 0 tokens. It then takes its cost from all of them, into debt if necessary: a request larger than the
// burst is not refused for ever, and nothing else is admitted until the debt is repaid. A cost that is known only later
// is charged later.
//
// A single limiter is exact: no window of length T admits more than b + r·T plus the cost of one request.
//
// # Sharing
//
// Each replica has a counter per bucket for what it has admitted. Counters only grow. Every D (PublishEvery) a replica
// appends a record to the log with the counters that have changed, and every 5 s one with all counters (a snapshot),
// which is also a sign of life. It reads the whole log. It takes the growth of other replicas' counters from its own
// bucket, the view. Counters are cumulative, so lost, repeated or reordered records do no harm. Each replica uses its own
// monotonic clock. Clocks are never compared.
//
// A replica is fresh if it has read back a record of its own that it sent within the last L/2, with no earlier one
// missing (a snapshot replaces lost ones), and has heard of every other replica within L (Staleness). Otherwise it is
// blind: it admits from its own share, which starts at the view but at b/N at most, and gains r/N a second. It presumes
// that the other (N-1)/N of the rate are spent, and subtracts that from what it learns later, so that a long outage of
// the log leaves no debt. After 3L without the log, a replica may find a counter of another replica for the first time,
// and that counter may be of any age. Then it takes the lower of the two views of that bucket and ignores the earlier
// growth. A replica that is silent for 3L leaves N, if the log was available. One that says goodbye leaves at once.
//
// If N > 1, a guard holds at all times: within any time of L a replica admits at most
//
//	g = b/N + r·L
//
// plus the cost of the last of those requests. The price is that a burst on a single replica takes about N·L to be spent.
//
// A starting replica reads back 10 s, two snapshots, and takes each bucket from the last replica that reported it. A
// single process that is restarted does the same. A full bucket that was not used for a minute is forgotten.
//
// # The bound
//
// Let c be the maximum cost of a request (if costs are known only after admission: of all requests in flight on a
// replica). While replicas are fresh, every window of any length T admits
//
//	admitted(T) ≤ b + r·T + (N-1)·g + N·c
//
// The excess over b + r·T does not grow with T: the rate is exact in the long run.
//
// Proof. Let replica j admit the last request of the window, at time t.
//
// (1) What j knows. Its view was at most b at the window's start, gained at most r·T, and lost everything that j admitted
// or learned of in the window. Before the last request it was above 0, and after it above -c. So j knows at t of less
// than b + r·T + c that was admitted in the window. (Nothing is known before it is admitted, so everything admitted in
// the window was also taken from the view in the window.)
//
// (2) What j does not know. j is fresh at t: it has read back a record that it sent at t-L/2 or later. The log has one
// order, so j has read everything that was in it at t-L/2. Another replica i was fresh at t-L/2: it had read back a
// record that it sent at t-L or later, with no earlier one missing, so everything that i admitted before t-L was in the
// log at t-L/2. Hence i admitted what j does not know after t-L, and the guard limits that to g + c.
//
// (1) and (2) for N-1 other replicas add up to the bound. ∎
//
// The other terms:
//
//   - Blind times. In a blind time of length S a replica admits at most b/N + r·S/N + c beyond what was known. Without
//     the log, all replicas together admit b + r·S + N·c. The view gains r·S/N, and (N-1)·r·S/N are presumed spent. The
//     sum is r·S, so (1) holds for windows that begin before the blind time and end after it. A window that begins or
//     ends within it may admit (N-1)/N·b more, the replicas' shares. If a replica finds a counter for the first time
//     afterwards, the lower view omits what that counter's replica admitted blindly and had not reported, at most
//     b/N + r·S/N.
//   - A single replica that is cut off for S is considered gone by the others and continues at its share: r·S/N more. If
//     requests are accepted only once they are in the same Kafka, it cannot accept what it admits.
//   - A crash loses what was not reported: g + c. The replica that replaces it takes each bucket from another replica,
//     and does not know what that one had not reported: (2) again.
//   - While N changes, replicas may have different values of N. Use the smallest for g and the largest for the sum. A
//     replica that has not heard of any other has N = 1, which is why a starting replica should wait for Join's channel.
//   - With more than 100,000 subjects in use at a time, evicted buckets are forgotten: b at most for each.
//
// Worst windows in virtual time (bound_test.go; r = 1,000, b = 10,000, c = 100, D = 0.2 s, L = 1 s, 20 to 300 ms
// through the log, six patterns of arrival), beyond r·T, and the bound in parentheses: N = 1 10,095 (10,100), N = 2
// 12,000 (16,200), N = 4 14,000 (20,900), N = 8 18,700 (26,550).
package ratelimit
