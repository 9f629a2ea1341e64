// OpenAI's client of Java under the OpenTelemetry agent: a tool call and its answer, a stream, a refused call, an embedding.
import com.openai.client.OpenAIClient;
import com.openai.client.okhttp.OpenAIOkHttpClient;
import com.openai.core.JsonValue;
import com.openai.errors.OpenAIServiceException;
import com.openai.models.FunctionDefinition;
import com.openai.models.FunctionParameters;
import com.openai.models.chat.completions.ChatCompletionCreateParams;
import com.openai.models.chat.completions.ChatCompletionFunctionTool;
import com.openai.models.chat.completions.ChatCompletionStreamOptions;
import com.openai.models.chat.completions.ChatCompletionToolMessageParam;
import com.openai.models.embeddings.EmbeddingCreateParams;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.Map;

public class OpenAIChat {
  static final String QUESTION = "What is the weather in Paris?";
  static final String SYSTEM = "You are a weather clerk. Use the tool.";
  static final String WEATHER = "Rain, 12 degrees";

  public static void main(String[] args) throws Exception {
    OpenAIClient client = OpenAIOkHttpClient.builder().fromEnv().maxRetries(0).build();
    var tool = ChatCompletionFunctionTool.builder().function(FunctionDefinition.builder().name("get_weather")
        .description("The weather of a city.").parameters(FunctionParameters.builder()
            .putAdditionalProperty("type", JsonValue.from("object"))
            .putAdditionalProperty("properties", JsonValue.from(
                Map.of("city", Map.of("type", "string", "description", "Name of the city"))))
            .putAdditionalProperty("required", JsonValue.from(List.of("city"))).build()).build()).build();
    var asked = ChatCompletionCreateParams.builder().model("gpt-5-mini").addSystemMessage(SYSTEM).addUserMessage(QUESTION).addTool(tool);
    var message = client.chat().completions().create(asked.build()).choices().get(0).message();
    var call = message.toolCalls().get().get(0).asFunction();
    tell("{\"name\": \"get_weather\", \"arguments\": " + call.function().arguments() + ", \"result\": \"" + WEATHER + "\"}");
    asked.addMessage(message).addMessage(ChatCompletionToolMessageParam.builder().toolCallId(call.id()).content(WEATHER).build());
    client.chat().completions().create(asked.build());
    var streamed = ask().streamOptions(ChatCompletionStreamOptions.builder().includeUsage(true).build()).build();
    try (var stream = client.chat().completions().createStreaming(streamed)) {
      stream.stream().forEach(chunk -> {});
    }
    try {
      client.chat().completions().create(ask().temperature(3).build());
      throw new AssertionError("the provider was to refuse this call");
    } catch (OpenAIServiceException refused) {
      // as the script has it
    }
    client.embeddings().create(EmbeddingCreateParams.builder().model("text-embedding-3-small").input(QUESTION).build());
  }

  static ChatCompletionCreateParams.Builder ask() {
    return ChatCompletionCreateParams.builder().model("gpt-5-mini").addUserMessage(QUESTION);
  }

  static void tell(String tool) throws Exception {
    var request = HttpRequest.newBuilder(URI.create(System.getenv("RECORD_PROVIDER") + "/journal/tool"))
        .POST(HttpRequest.BodyPublishers.ofString(tool)).build();
    HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.discarding());
  }
}
