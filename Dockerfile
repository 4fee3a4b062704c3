# The app on port 7860, with or without a GPU. PIP_OPTIONS: further options for pip, such as an
# index of CPU-only wheels, which makes the image much smaller.
# The base image is named by its digest, so that builds of one commit are the same. For a newer one:
# docker buildx imagetools inspect python:3.12-slim
FROM python:3.12-slim@sha256:78387bc3881b8273120a12ebe6c1ab22b018ccc2c9adf565ae1ac9b536e184ea
ARG PIP_OPTIONS=""
RUN useradd --create-home --uid 1000 user
USER user
ENV HOME=/home/user \
    PATH=/home/user/.local/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    GRADIO_SERVER_NAME=0.0.0.0 \
    GRADIO_SERVER_PORT=7860 \
    GRADIO_ANALYTICS_ENABLED=False
WORKDIR /home/user/app
COPY --chown=user requirements.txt .
RUN pip install --no-cache-dir --user $PIP_OPTIONS -r requirements.txt
COPY --chown=user . .
EXPOSE 7860
HEALTHCHECK --start-period=60s --timeout=10s CMD ["python", "-c", \
    "from urllib.request import urlopen; urlopen('http://127.0.0.1:7860/gradio_api/sv/health')"]
CMD ["python", "app.py"]
