import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { client, unwrap } from "./client";
import { startSession } from "./identity";
import { useInvalidatingMutation } from "./mutation";
import { keys } from "./queryKeys";

/** POST /v1/me/_actions/change-password. Ends all other sessions. */
export function useChangePassword() {
  return useInvalidatingMutation(keys.sessions, (body: { current_password: string; new_password: string }) =>
    unwrap(client.POST("/v1/me/_actions/change-password", { body })),
  );
}

/** GET /v1/me/sessions, last used first. */
export function useSessions() {
  return useQuery({
    queryKey: keys.sessions,
    queryFn: ({ signal }) => unwrap(client.GET("/v1/me/sessions", { signal })),
    select: (list) => list.data,
  });
}

/** DELETE /v1/me/sessions/{user_session_id}. */
export function useEndSession() {
  return useInvalidatingMutation(keys.sessions, (id: string) =>
    unwrap(client.DELETE("/v1/me/sessions/{user_session_id}", { params: { path: { user_session_id: id } } })),
  );
}

/** POST /v1/me/sessions/_actions/end-others. */
export function useEndOtherSessions() {
  return useInvalidatingMutation(keys.sessions, () =>
    unwrap(client.POST("/v1/me/sessions/_actions/end-others")),
  );
}

/** POST /v1/password-resets/_actions/read: whose password the link with the token resets. */
export function usePasswordResetOf(token: string) {
  return useQuery({
    queryKey: keys.session.passwordReset(token),
    queryFn: ({ signal }) =>
      unwrap(client.POST("/v1/password-resets/_actions/read", { body: { token }, signal })),
    gcTime: 0,
  });
}

/** POST /v1/password-resets/_actions/use: sets the password and logs in. */
export function useUsePasswordReset() {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: (body: { token: string; password: string }) =>
      unwrap(client.POST("/v1/password-resets/_actions/use", { body })),
    onSuccess: (me) => startSession(queryClient, me),
  });
}
