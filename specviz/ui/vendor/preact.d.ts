// The types of the vendored library, from the package of the same version.
export * from "preact";
