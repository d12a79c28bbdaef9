/* The fence of a quorum: three servers that know nothing of each other, as in src/store/quorum.
 *
 * MODELLED  On each server: who has the lock, and "<last fence> <token>"; Enter without queueing,
 * Raise (confirm) and Leave (as the end of a lease), each one step. A client asks all servers at once. With more than half of
 * them granted, whichever those are, it takes the highest number for its fence, has that confirmed
 * where the number was lower, and holds the lock when more than half have it. Otherwise it leaves
 * all of them and is over. A question may be carried out at any time, after its round too, or never;
 * an answer may be lost; a server may be silent; a client may stop anywhere. A client is what a server
 * takes for one, a token: a further try has another, and that it leaves what an earlier one was given
 * is a Leave like any other.
 *
 * TIME  There is no clock. A lease may end on any server at any time; all that is known is that its
 * client's validity is over by then, being counted from before the question (scripts/simulate shows that).
 * Numbers only count here: that they are times matters when a server loses its data (scripts/simulate again).
 *
 * LEFT OUT  Servers that lose their data. Refreshing: it changes no fence, and a server that it enters again does not count in that
 * round. Several keys under one token, which try again with that (TRIES=2, too much to search to the end): there no
 * server is asked again that has not said that it heard the Leave. A Raise on those who were late.
 *
 * BOUNDS  Three servers, CLIENTS clients, the first with TRIES tries and the others with one. Each
 * server may have given one number before. */

#ifndef CLIENTS
#define CLIENTS 2
#endif
#ifndef TRIES
#define TRIES   1
#endif
#define WISH     2
#define SERVERS  3
#define MAJORITY 2
#define NOBODY   CLIENTS

mtype = { resting, asking, confirming, holding };

/* The servers. */
typedef Server {
  byte owner = NOBODY;
  byte fence, fence_to = NOBODY     /* "<last fence> <token it was given to>" */
};
Server server[SERVERS];

/* The clients, and what each has to do with each server. */
typedef Dealings {
  byte asked[SERVERS];              /* so many Enters are on their way, from earlier tries too */
  bool entered[SERVERS];            /* one of them was carried out during this try */
  byte number[SERVERS];             /* granted with this number; 0: not granted, or not heard of */
  bool raise[SERVERS];              /* a Raise is on its way */
  bool confirmed[SERVERS]           /* it is known to have our fence */
};
Dealings with[CLIENTS];
mtype state[CLIENTS] = resting;
byte tries[CLIENTS], fence_of[CLIENTS];
bool over[CLIENTS];                 /* its validity has ended */

/* What only the properties look at: each is an assertion, named so that spin says which one failed. */
byte top;                           /* the highest fence of a holder so far */
hidden byte exclusion, fencing;
hidden byte s, c, n, raised;                /* of one step */

inline check_fence(me) {            /* greater than those of all who held the lock before */
  fencing = fence_of[me] > top;
  assert(fencing);
  top = fence_of[me]
}
inline check_exclusion() {          /* no two validities overlap */
  n = 0;
  for (c : 0 .. CLIENTS - 1) { if :: state[c] == holding && !over[c] -> n++ :: else fi }
  exclusion = n <= 1;
  assert(exclusion)
}

/* THE SCRIPTS of client `me` on server `at` */

inline enter(me, at, agrees) {      /* all are asked for one number; whose clock agrees gives it */
  with[me].entered[at] = state[me] != resting;
  if
  :: server[at].owner == NOBODY ->
     server[at].owner = me; server[at].fence_to = me;
     if
     :: agrees && server[at].fence < WISH -> server[at].fence = WISH
     :: else -> server[at].fence++
     fi
  :: else
  fi
}
#define granted(me, at) (server[at].owner == me && server[at].fence_to == me)

inline hear(me, at) {
  if :: state[me] == asking && granted(me, at) -> with[me].number[at] = server[at].fence :: else fi
}

inline raise_fence(me, at) {
  if
  :: server[at].owner == me && server[at].fence <= fence_of[me] ->
     server[at].fence = fence_of[me]; server[at].fence_to = me; raised = true
  :: else -> raised = false
  fi
}

/* THE CLIENTS */

inline rest(me) {                   /* each Leave may be carried out, at any time, or lost */
  for (s : 0 .. SERVERS - 1) {
    with[me].entered[s] = false; with[me].number[s] = 0; with[me].confirmed[s] = false
  }
  over[me] = false; state[me] = resting
}
inline ask_all(me) {
  fence_of[me] = 0;
  for (s : 0 .. SERVERS - 1) { with[me].asked[s]++; with[me].raise[s] = false }
  tries[me]++; state[me] = asking
}
inline choose_fence(me) {           /* the highest; where it comes from has confirmed it already */
  for (s : 0 .. SERVERS - 1) {
    fence_of[me] = (with[me].number[s] > fence_of[me] -> with[me].number[s] : fence_of[me])
  }
  for (s : 0 .. SERVERS - 1) {
    with[me].confirmed[s] = with[me].number[s] == fence_of[me];
    with[me].raise[s] = with[me].number[s] > 0 && !with[me].confirmed[s];
    with[me].number[s] = 0
  }
  state[me] = confirming
}
#define granted_by(i, at)   (with[i].number[at] > 0)
#define confirmed_by(i, at) (with[i].confirmed[at])
#define majority(what, i)   (what(i, 0) + what(i, 1) + what(i, 2) >= MAJORITY)

proctype client(byte me) {
  do
  :: d_step { state[me] == resting && tries[me] < (me == 0 -> TRIES : 1) -> ask_all(me) }
  :: d_step { state[me] == asking && majority(granted_by, me) -> choose_fence(me) }
#ifdef NO_CONFIRM                   /* MISTAKE: the highest number is believed to be enough */
  :: d_step { state[me] == confirming && !over[me] ->
#elif defined(VALIDITY_UNCHECKED)   /* MISTAKE: nobody looks how long all that took */
  :: d_step { state[me] == confirming && majority(confirmed_by, me) ->
#else
  :: d_step { state[me] == confirming && !over[me] && majority(confirmed_by, me) ->
#endif
       state[me] = holding; check_fence(me); check_exclusion()
     }
  :: d_step { state[me] == asking || state[me] == confirming -> rest(me) }
  :: d_step { state[me] == holding -> tries[me] = TRIES; rest(me) }   /* the next run has a new token */
  od
}

/* THE NETWORK carries out what is on its way, in any order; and time passes on the servers. */
proctype network(byte me; byte at) {
  do
  /* Not one step with a choice in it: in a d_step the first that is possible is taken, always. */
  :: d_step { with[me].asked[at] > 0 -> with[me].asked[at]--; enter(me, at, true) }
  :: d_step { with[me].asked[at] > 0 -> with[me].asked[at]--; enter(me, at, false) }
  :: d_step { with[me].asked[at] > 0 -> with[me].asked[at]--; enter(me, at, true); hear(me, at) }
  :: d_step { with[me].asked[at] > 0 -> with[me].asked[at]--; enter(me, at, false); hear(me, at) }
  :: d_step { with[me].raise[at] -> with[me].raise[at] = false; raise_fence(me, at) }
  :: d_step { with[me].raise[at] -> with[me].raise[at] = false; raise_fence(me, at);
       if :: state[me] == confirming && raised -> with[me].confirmed[at] = true :: else fi
     }
  :: d_step { server[at].owner == me ->   /* the lease ends, or a Leave is heard */
       server[at].owner = NOBODY;
       if :: with[me].entered[at] && state[me] != resting -> over[me] = true :: else fi
     }
  od
}
init {
  byte i, at;
  atomic {
    for (i : 0 .. CLIENTS - 1) {
      run client(i);
      for (at : 0 .. SERVERS - 1) { run network(i, at) }
    }
    for (at : 0 .. SERVERS - 1) {   /* whatever was before, they differ; as they are alike, in order */
      if
      :: at == 0 || server[at - 1].fence == 1 -> server[at].fence = 1
      :: true
      fi
    }
    i = 0; at = 0
  }
}
