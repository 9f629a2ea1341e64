import { useLocation, useNavigate } from "react-router";
import { useKeys } from "./useKeys";

/** Returns to the list where the reader left it, or to the page above. Escape does the same. */
export function useBack(): () => void {
  const navigate = useNavigate();
  const location = useLocation();
  const back = () => (location.key === "default" ? navigate("..", { relative: "path" }) : navigate(-1));
  useKeys({ Escape: back });
  return back;
}
