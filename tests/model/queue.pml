/* The queue of one server: exclusive locks, as in src/store/redis/lua and src/hold.
 *
 * MODELLED  The scripts Enter, Leave and Refresh with purge and hand-off, each one step, because the
 * server runs them so. Clients that queue, hold, refresh, give up and release; a foreign client that
 * knows nothing of the queue. Question, script and answer are three steps, so that anything can
 * happen in between. FAULTS things go wrong: a client dies (its job with it), or stands still for any
 * time at any point (with its network: slow is the same); an answer is lost and the question asked
 * again; a question that was given up arrives later; the server loses all data.
 *
 * TIME is a tick common to all. What runs unhindered does so within a tick; leases, deadlines and naps
 * count ticks. That clocks drift is left out: rlock takes the drift off the validity, so a common tick
 * is not kinder. A fence is max(last + 1, server's µs); the µs are taken to be beyond all that was
 * given (README: as long as the servers' clocks agree), which matters only after a loss of data.
 *
 * LEFT OUT  Readers, permits, min-hold, supersede, force-release. Heartbeats never fail a living
 * waiter: it keeps its place, and may Enter at any time, as after a stale wake, too. A token has one
 * ticket for good. Claim and a quarter of it are both one tick. No Leave is overtaken by a later Enter
 * of the same token.
 *
 * BOUNDS  N clients with one run each, FAULTS faults, leases of TTL ticks; TTL >= CLAIM. */

#ifndef N
#define N         3
#define FAULTS    1
#endif
#define TTL       2  /* of a lease; of its validity too, counted from the question */
#ifndef CLAIM
#define CLAIM     1  /* to confirm a reservation */
#define GRACE     2  /* without a sign of life a place in the queue is kept */
#endif
#define HEARTBEAT 3  /* the longest nap */
#define FOREIGNER N
#define NOBODY    (N + 1)

mtype = { outside, asking, queued, asleep, granted, holding, refreshing, refreshed,
          too_late, giving_up, leaving, gone, dead };

/* The server. */
byte owner = NOBODY, lease;         /* K: whose token, and for how long */
byte fence, fence_to = NOBODY;      /* "<last fence> <token it was given to>" */
bool waiting[N];                    /* has a place in the queue */
byte ticket[N], tickets;            /* behind those with a smaller ticket, */
byte alive[N];                      /* until then */
bool mail[N];                       /* a `wake` or `next`, not read yet */
/* The clients. */
mtype state[N] = outside;
bool paused[N], late[N];            /* stands still; has a forgotten question on its way */
byte since[N];                      /* of a lease counted from the last question, so much is left, */
byte valid[N];                      /* and of what we have */
byte nap[N];
bool foreigner_came;
/* What only the properties look at. */
byte faults, top, top_to = NOBODY, turn = NOBODY, witness = NOBODY, idle, idle_before_first;
bool wiped, overtaken, behind[N];   /* behind: stood still, and has not asked since */
hidden byte exclusion, fencing, order, wakefulness, takeover;
/* Of one step. */
hidden byte first, second, last, j, purged, was_mine;
hidden mtype answer;

#define waits(i)    (!paused[i] && (state[i] == asking || state[i] == queued || state[i] == asleep))
#define prompt(i)   (i < N && waits(i) && !behind[i])
#define believes(i) (valid[i] > 0 && \
                     (state[i] == holding || state[i] == refreshing || state[i] == refreshed))

/* PROPERTIES: each is an assertion, and the name of a variable, so that spin says which one failed. */

inline check_exclusion() {          /* nobody's validity overlaps another's */
  exclusion = (owner == FOREIGNER -> 1 : 0);
  for (j : 0 .. N - 1) { if :: believes(j) -> exclusion++ :: else fi }
  exclusion = wiped || exclusion <= 1;
  assert(exclusion)
}
inline check_fence(i) {             /* greater than all before; the same only for the same token */
  fencing = fence > top || fence == top && i == top_to;
  assert(fencing);
  top = fence; top_to = i
}
inline check_order(i) {             /* nobody barges in while it is another's turn */
  order = turn == NOBODY || turn == i;
  assert(order);
  turn = NOBODY; witness = NOBODY
}
inline check_progress() {           /* once a tick: nobody is forgotten */
  heads();
  if :: owner == NOBODY && prompt(first) -> idle_before_first++ :: else -> idle_before_first = 0 fi;
  wakefulness = overtaken || idle_before_first <= 1;   /* 1: a foreigner wakes nobody */
  assert(wakefulness);
  if
  :: (owner == NOBODY || owner < N && fence_to != owner) && (prompt(first) || prompt(second)) -> idle++
  :: else -> idle = 0
  fi;
  takeover = overtaken || idle <= (second == witness && prompt(witness) -> CLAIM : HEARTBEAT);
  assert(takeover)
}

#include "queue_scripts.pml"

/* THE CLIENTS */

inline become(what) { state[me] = what; since[me] = 0; nap[me] = 0; behind[me] = false }
inline ask(what) { become(what); since[me] = TTL }
inline stop(what) { become(what); valid[me] = 0 }
inline believe() {
#ifdef COUNT_FROM_REPLY             /* MISTAKE: the lease was given before the answer came */
  valid[me] = TTL;
#else
  valid[me] = since[me];
#endif
  become(holding); check_exclusion()
}
#define at(s)   (!paused[me] && state[me] == s)
#define fault() (faults < FAULTS && !paused[me] && \
                 state[me] != outside && state[me] != gone && state[me] != dead)

proctype client(byte me) {
  do                                /* all are alike: so they come in order */
  :: d_step { at(outside) && (me == 0 || state[me - 1] != outside) -> ask(asking) }
  :: d_step { at(asking) -> enter(me); state[me] = answer }
  :: d_step { at(queued) -> state[me] = asleep; since[me] = 0 }
  :: d_step { at(asleep) && mail[me] -> mail[me] = false; ask(asking) }
  :: d_step { at(asleep) -> ask(asking) }
  :: d_step { at(asleep) -> stop(giving_up) }
  :: d_step { at(granted) && since[me] > 0 -> believe() }
  :: d_step { at(granted) && since[me] == 0 -> stop(too_late) }
  :: d_step { at(holding) && valid[me] > 0 && valid[me] < TTL -> ask(refreshing) }
  :: d_step { at(refreshing) -> refresh(me); state[me] = answer; if :: answer == gone -> stop(gone) :: else fi }
  :: d_step { at(refreshed) -> believe() }
  :: d_step { at(holding) -> stop(leaving) }        /* the job ended, or the validity */
  :: d_step { (at(leaving) || at(giving_up)) -> leave(me); stop(gone) }
  :: d_step { at(too_late) -> leave(me); ask(asking) }
                                    /* what can go wrong */
  :: d_step { fault() -> faults++; stop(dead) }
  :: d_step { fault() -> faults++; paused[me] = true }
  :: d_step { paused[me] -> paused[me] = false; behind[me] = true }
  :: d_step { fault() && (at(granted) || at(queued)) -> faults++; ask(asking) }
  :: d_step { fault() && at(refreshed) -> faults++; become(holding) }
  :: d_step { fault() && at(asking) -> faults++; late[me] = true; ask(asking) }
  :: d_step { late[me] -> late[me] = false; overtaken = true; enter(me) }
  od
}
proctype foreigner() {
  d_step { owner == NOBODY -> 
    check_order(FOREIGNER); set_owner(FOREIGNER, TTL); check_exclusion()
  }
  d_step { owner == FOREIGNER -> set_owner(NOBODY, 0) }
}

/* TIME passes when everybody who can do something at once has done it. */
#define calm(i) (paused[i] || state[i] == outside || state[i] == gone || state[i] == dead || \
                 state[i] == asleep && !mail[i] && nap[i] > 0 || state[i] == holding && valid[i] > 0)
#if N == 3
#define all_calm (calm(0) && calm(1) && calm(2))
#else
#define all_calm (calm(0) && calm(1))
#endif
inline count_down(what) { if :: what > 0 -> what = what - 1 :: else fi }

proctype world() {
  byte i;
  do
  :: d_step { all_calm ->
       check_progress();
       turn = NOBODY;
       for (i : 0 .. N - 1) {
         count_down(since[i]); count_down(valid[i]);
         if :: state[i] == asleep -> count_down(nap[i]) :: else fi;
         if :: waiting[i] && !waits(i) -> count_down(alive[i]) :: else fi
       }
       i = 0;
       count_down(lease);
       if :: lease == 0 -> set_owner(NOBODY, 0) :: else fi
     }
  :: d_step { faults < FAULTS ->    /* all data are lost */
       faults++; wiped = true; turn = NOBODY; witness = NOBODY;
       set_owner(NOBODY, 0); fence = 0; fence_to = NOBODY;
       for (i : 0 .. N - 1) { drop(i); mail[i] = false }
       i = 0
     }
  od
}
init {
  byte i;
  atomic { for (i : 0 .. N - 1) { run client(i) } i = 0; run foreigner(); run world() }
}
