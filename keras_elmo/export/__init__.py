"""Elmo for servers and devices: SavedModel, LiteRT, ONNX, OpenVINO."""
