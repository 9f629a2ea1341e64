// Package ratelimit keeps token buckets that several replicas share through a log, and says how far they may be
// overdrawn.
//
// # Buckets
//
// A subject, a key, a project or a user, has a bucket for each measure: requests, bytes, spans. A bucket holds at most b
// tokens (the burst) and gains r a second (the rate). A request is admitted while every bucket that it is charged
// to holds more than nothing, and then takes its cost from all of them, into debt if need be: what is larger than
// the burst is not refused for ever, and debt is repaid before anything else is admitted. What a request costs may
// be known only later; it is charged when it is known.
//
// A limiter that stands alone is exact: no window of length T admits more than b + r·T, and one request's cost.
//
// # Sharing
//
// Each replica counts what it admitted, for each bucket, in a counter that only grows. Every D (PublishEvery) it
// appends one record to the log with the counters that have changed, and every 5 s one with all of them, which is
// also a sign of life. It reads the whole log. What another's counter has grown by is taken from the bucket at
// hand, the view; since counters are cumulative, a record that is lost, repeated or out of order does no harm. Time
// is each replica's monotonic clock; no clocks are compared.
//
// A replica is fresh while a record of its own that it sent within the last L/2 has come back to it, with none
// missing before it (one that is lost is made up for by a snapshot), and every other replica was heard within L
// (Staleness). A replica that is not fresh is blind: it admits from a share of its own, which starts at the view
// but at b/N at most, and gains r/N a second. The other (N-1)/N of the rate it presumes to be spent, and sets off
// against what it learns of later, so that a long absence of the log leaves no debt. A counter of another replica
// that it meets for the first time after 3L without the log may be of any age: it takes the lower of the two views of
// that bucket, and nothing of what was counted before. A replica that is silent for
// 3L leaves N, if the log was there; one that says goodbye leaves at once.
//
// A guard holds at all times when N > 1: within any time of L a replica admits at most
//
//	g = b/N + r·L
//
// and what the last of those requests cost. The price is that a burst on one replica alone takes about N·L to be
// spent.
//
// A starter reads back 10 s, two snapshots, and takes each bucket as the last replica to speak of it saw it; so
// does a single process that is started again. A full bucket that nobody used for a minute is forgotten.
//
// # The bound
//
// Let c be the most that a request costs (where costs are known only after admission: that the requests which a
// replica has in flight cost). While replicas are fresh, every window of any length T admits
//
//	admitted(T) ≤ b + r·T + (N-1)·g + N·c
//
// The excess over b + r·T does not grow with T: the rate is exact in the long run.
//
// Proof. Let replica j admit the last request of the window, at time t.
//
// (1) What j knows. Its view was at most b at the window's start, gained at most r·T, and lost all that j admitted
// in the window and all that j learned of in it. Before the last request it was above 0, and after it above -c. So
// what was admitted in the window and is known to j at t is less than b + r·T + c. (Nothing is known before it is
// admitted, so that whatever was admitted in the window was taken from the view in the window.)
//
// (2) What j does not know. j is fresh at t: a record that it sent at t-L/2 or later has come back, and as the log
// has one order j has read everything that stood in it at t-L/2. Another replica i was fresh at t-L/2: a record
// that it sent at t-L or later had come back by then, none missing before it, so that everything that i admitted
// before t-L stood in the log at t-L/2. Hence what i admitted and j does not know was admitted after t-L; the guard
// makes that at most g + c.
//
// (1) and (2) for N-1 others add up to the bound. ∎
//
// The other terms:
//
//   - Blind times. In a blind time of length S a replica admits at most b/N + r·S/N + c beyond what was known, and
//     all of them together, with the log away, b + r·S + N·c. The view gains r·S/N in it, and presumes (N-1)·r·S/N
//     spent; the two are r·S, so (1) holds for windows that begin before it and end after it. A window that begins
//     or ends in it may admit (N-1)/N·b more: the shares that were dealt. Of a bucket whose other counters a replica
//     meets for the first time after it, the lower view leaves out what the replica of the other admitted blindly,
//     b/N + r·S/N at most, which it had not told.
//   - One replica that alone is cut off for S is taken for gone by the others and goes on at its share: r·S/N more.
//     Where requests are accepted only once they stand in the same Kafka, what it admits it cannot accept.
//   - A crash takes with it what had not been told: g + c. The starter that takes its place does not know what the
//     last to speak of a bucket had not been told, either: (2) again.
//   - While N changes, replicas may count differently; N is then the smallest count for g and the largest for the
//     sum. A replica that has not heard of anybody yet counts 1, which is why a starter should wait for Join's
//     channel.
//   - More than 100,000 subjects in use at a time: what is evicted is forgotten, b at most each.
//
// Worst windows in virtual time (bound_test.go; r = 1,000, b = 10,000, c = 100, D = 0.2 s, L = 1 s, 20 to 300 ms
// through the log, six patterns of arrival), beyond r·T, and the bound: N = 1 10,095 (10,100), N = 2 12,000
// (16,200), N = 4 14,000 (20,900), N = 8 18,700 (26,550).
package ratelimit
