"""Descriptions of services in OpenAPI: what they take and answer, as a space and a subject.

``space_from_openapi(source, path)`` in `evenhand.config.openapi.form` returns both, and
``read_form`` what is known before ranges that the description lacks are filled in.
"""
