import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { client, unwrap } from "./client";
import { startSession } from "./identity";
import { useInvalidatingMutation } from "./mutation";
import { keys } from "./queryKeys";
import type { Place, Role } from "./types";

const PAGE = 100;

/** GET /v1/invitations, page by page, newest first. */
export function useInvitations(place: Place) {
  return useInfiniteQuery({
    queryKey: keys.invitations.list(place),
    initialPageParam: 0,
    queryFn: ({ pageParam, signal }) =>
      unwrap(
        client.GET("/v1/invitations", {
          params: { query: { ...place, limit: PAGE, offset: pageParam } },
          signal,
        }),
      ),
    getNextPageParam: (page) => (page.has_more ? page.offset + page.data.length : undefined),
  });
}

/** POST /v1/invitations. Only this response contains the link. */
export function useInvite() {
  return useInvalidatingMutation(
    keys.invitations.all,
    (body: Place & { role: Role; email?: string; expires_at?: string }) =>
      unwrap(client.POST("/v1/invitations", { body })),
  );
}

/** DELETE /v1/invitations/{invitation_id}. */
export function useRevokeInvitation() {
  return useInvalidatingMutation(keys.invitations.all, (id: string) =>
    unwrap(client.DELETE("/v1/invitations/{invitation_id}", { params: { path: { invitation_id: id } } })),
  );
}

/** POST /v1/invitations/_actions/read: what the link with the token gives. */
export function useInvitationOf(token: string) {
  return useQuery({
    queryKey: keys.session.invitation(token),
    queryFn: ({ signal }) =>
      unwrap(client.POST("/v1/invitations/_actions/read", { body: { token }, signal })),
    gcTime: 0,
  });
}

/** POST /v1/invitations/_actions/accept: creates an account or logs in, and gives it the role. */
export function useAcceptInvitation() {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: (body: { token: string; email: string; password: string }) =>
      unwrap(client.POST("/v1/invitations/_actions/accept", { body })),
    onSuccess: (me) => startSession(queryClient, me),
  });
}

/** POST /v1/invitations/_actions/join: gives the role to the present account. */
export function useJoin() {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: (token: string) => unwrap(client.POST("/v1/invitations/_actions/join", { body: { token } })),
    onSuccess: (me) => queryClient.setQueryData(keys.session.me, me),
  });
}
