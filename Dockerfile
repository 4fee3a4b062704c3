# The app on port 7860, with or without a GPU. PIP_OPTIONS: further options for pip, such as an
# index of CPU-only wheels, which makes the image much smaller.
FROM python:3.12-slim
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
