/* The scripts of queue.pml: what the server does, each in one step. Compare src/store/redis/lua. */

inline heads() {
  first = NOBODY; second = NOBODY; last = NOBODY;
  for (j : 0 .. N - 1) {
    if :: waiting[j] && (last == NOBODY || ticket[j] > ticket[last]) -> last = j :: else fi;
    if
    :: !waiting[j]
    :: waiting[j] && (first == NOBODY || ticket[j] < ticket[first]) -> second = first; first = j
    :: else -> if :: second == NOBODY || ticket[j] < ticket[second] -> second = j :: else fi
    fi
  }
}
inline post(i) { if :: i < N -> mail[i] = true :: else fi }
inline drop(i) { waiting[i] = false; alive[i] = 0 }
inline set_owner(i, ticks) { owner = i; lease = ticks }
inline purge() {
  purged = false;
  for (j : 0 .. N - 1) {
    if :: waiting[j] && alive[j] == 0 -> drop(j); mail[j] = false; purged = true :: else fi
  }
}
inline handoff() {
  heads();
  turn = first; witness = second; idle = 0;
#ifdef NO_WAKE                      /* MISTAKE: a release deletes, and tells nobody */
  set_owner(NOBODY, 0);
#else
  if
  :: first == NOBODY -> set_owner(NOBODY, 0)
  :: else ->
     post(first);
#ifdef NO_RESERVATION               /* MISTAKE: wake, and let them race */
     set_owner(NOBODY, 0);
#else
     set_owner(first, CLAIM);
#endif
#ifndef SHORT_PLACES                /* as another client may have it */
     alive[first] = CLAIM;          /* the place outlives the reservation, by a millisecond */
#endif
#ifndef NO_WITNESS                  /* MISTAKE: only the first is told, who may be dead */
     post(second); post(last)
#endif
  fi
#endif
}
inline roll_call(i) {               /* the first one did not come: who of the others lives? */
  handoff();
  for (j : 0 .. N - 1) {
    if
    :: waiting[j] && j != i && j != first && alive[j] > CLAIM -> post(j); alive[j] = CLAIM
    :: else
    fi
  }
}
inline enter(i) {
  purge(); heads();
  was_mine = owner == i;
  if
#ifdef RETRY_BY_PLACE               /* MISTAKE: not in the queue, so its answer was lost */
  :: was_mine && !waiting[i] ->
#else
  :: was_mine && fence_to == i ->   /* its answer was lost */
#endif
     lease = TTL; check_fence(i); answer = granted
  :: else ->
     if                             /* a reservation is confirmed, or free and my turn */
     :: was_mine || owner == NOBODY && (first == NOBODY || first == i) ->
#ifdef KEEP_FENCE                   /* MISTAKE: whose the key is already has its fence */
        if :: was_mine :: else -> fence++ fi;
#elif defined(COUNTER)              /* MISTAKE: a counter, that a loss of data sets back */
        fence++;
#else
        fence = (fence > top -> fence + 1 : top + 1);
#endif
        fence_to = i; check_fence(i); check_order(i);
        set_owner(i, TTL);
        drop(i); heads();
        if :: was_mine :: else -> post(first) fi;
        answer = granted
     :: else ->
        if :: owner == NOBODY -> roll_call(i) :: else fi;
        if :: ticket[i] == 0 -> tickets++; ticket[i] = tickets :: else fi;
        waiting[i] = true; alive[i] = GRACE;
        heads();
        if :: purged && first != i -> post(first) :: else fi;
        if                          /* when something can happen of which nobody tells */
        :: first == i && owner == fence_to -> nap[i] = lease
        :: first == i && owner != fence_to -> nap[i] = 1   /* a foreigner */
        :: first != i && owner == first -> nap[i] = alive[first]
        :: first != i && owner != first && second == i ->
           nap[i] = (owner == fence_to && lease < alive[first] -> lease : alive[first])
        :: else -> nap[i] = HEARTBEAT
        fi;
        answer = queued
     fi
  fi
}
inline leave(i) {
  purge(); heads();
  mail[i] = false; drop(i);
  if :: turn == i -> turn = NOBODY :: else fi;
  if
#ifdef RELEASE_UNCHECKED            /* MISTAKE: whose it is is not looked at */
  :: owner == i || state[i] == leaving || state[i] != leaving && owner == NOBODY -> handoff()
#else
  :: owner == i || state[i] != leaving && owner == NOBODY -> handoff()
#endif
  :: else -> if :: state[i] != leaving && (first == i || second == i) -> heads(); post(first) :: else fi
  fi
}
inline refresh(i) {
  if
#ifdef REFRESH_UNCHECKED            /* MISTAKE: a lost key is set again */
  :: true -> set_owner(i, TTL); answer = refreshed
#else
  :: owner == i -> lease = TTL; answer = refreshed
  :: else -> answer = gone
#endif
  fi
}
