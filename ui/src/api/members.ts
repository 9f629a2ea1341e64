import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { client, unwrap } from "./client";
import { useInvalidatingMutation } from "./mutation";
import { keys } from "./queryKeys";
import type { Place, Role } from "./types";

const PAGE = 100;
const MAX_PAGE = 500;

/** GET /v1/members, page by page, sorted by email. */
export function useMembers(place: Place) {
  return useInfiniteQuery({
    queryKey: keys.members.list(place),
    initialPageParam: 0,
    queryFn: ({ pageParam, signal }) => membersPage(place, PAGE, pageParam, signal),
    getNextPageParam: (page) => (page.has_more ? page.offset + page.data.length : undefined),
  });
}

/** GET /v1/members: all pages in one list. */
export function useAllMembers(place: Place) {
  return useQuery({
    queryKey: keys.members.whole(place),
    queryFn: async ({ signal }) => {
      const members = [];
      for (;;) {
        const page = await membersPage(place, MAX_PAGE, members.length, signal);
        members.push(...page.data);
        if (!page.has_more || page.data.length === 0) return members;
      }
    },
  });
}

function membersPage(place: Place, limit: number, offset: number, signal: AbortSignal) {
  return unwrap(client.GET("/v1/members", { params: { query: { ...place, limit, offset } }, signal }));
}

// A change may concern the caller's own roles.
const changed = { all: [keys.members.all, keys.session.me] };

/** PUT /v1/members/{member_id}. In a workspace it also adds a member of the organization. */
export function useSetMemberRole(place: Place) {
  return useInvalidatingMutation(changed, ({ userId, role }: { userId: string; role: Role }) =>
    unwrap(
      client.PUT("/v1/members/{member_id}", {
        params: { path: { member_id: userId } },
        body: { ...place, role },
      }),
    ),
  );
}

/** GET /v1/members/{member_id}/keys: the first keys that the member created and that work, and whether there are more. */
export function useMemberKeys(place: Place, userId: string) {
  return useQuery({
    queryKey: keys.members.keys(place, userId),
    queryFn: ({ signal }) =>
      unwrap(
        client.GET("/v1/members/{member_id}/keys", {
          params: { path: { member_id: userId }, query: { ...place, limit: PAGE } },
          signal,
        }),
      ),
    staleTime: 0,
  });
}

/** DELETE /v1/members/{member_id}. */
export function useRemoveMember(place: Place) {
  return useInvalidatingMutation(
    { all: [...changed.all, keys.apiKeys()] },
    ({ userId, revokeKeys }: { userId: string; revokeKeys: boolean }) =>
      unwrap(
        client.DELETE("/v1/members/{member_id}", {
          params: { path: { member_id: userId }, query: { ...place, revoke_keys: revokeKeys } },
        }),
      ),
  );
}

/** POST /v1/members/{member_id}/_actions/deactivate, or …/reactivate. */
export function useSetMemberActive(organizationId: string) {
  return useInvalidatingMutation(changed, ({ userId, active }: { userId: string; active: boolean }) => {
    const request = { params: { path: { member_id: userId } }, body: { organization_id: organizationId } };
    return unwrap(
      active
        ? client.POST("/v1/members/{member_id}/_actions/reactivate", request)
        : client.POST("/v1/members/{member_id}/_actions/deactivate", request),
    );
  });
}

/** POST /v1/members/{member_id}/_actions/reset-password. Only this response contains the link. */
export function useCreatePasswordReset(organizationId: string) {
  return useInvalidatingMutation(keys.members.all, (userId: string) =>
    unwrap(
      client.POST("/v1/members/{member_id}/_actions/reset-password", {
        params: { path: { member_id: userId } },
        body: { organization_id: organizationId },
      }),
    ),
  );
}

/** POST /v1/me/_actions/leave. */
export function useLeave() {
  return useInvalidatingMutation(changed, (place: Place) =>
    unwrap(client.POST("/v1/me/_actions/leave", { body: place })),
  );
}
