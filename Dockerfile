# The app, for people who sign in (docs/sharing.md). With a GPU: docker build --build-arg TORCH=cu128 .
FROM python:3.13-slim AS build
ARG TORCH=cpu
ENV UV_TORCH_BACKEND=$TORCH
COPY . /source
RUN pip install --no-cache-dir uv \
 && uv venv /app \
 && uv pip install --no-cache --python /app/bin/python --constraints /source/constraints.txt \
      "/source[learning,runs,images,sharing]"

FROM python:3.13-slim
RUN useradd --create-home --uid 1000 crowd
COPY --from=build /app /app
ENV PATH=/app/bin:$PATH
USER crowd
WORKDIR /home/crowd
RUN mkdir workspace data .streamlit
VOLUME /home/crowd/workspace
EXPOSE 8501
HEALTHCHECK --start-period=60s CMD \
  ["python", "-c", "import urllib.request as u; u.urlopen('http://localhost:8501/_stcore/health', timeout=5)"]
ENTRYPOINT ["crowdcore", "app", "--address", "0.0.0.0", "--no-browser"]
